// Ask before sending: `node check.mjs [--search] QUESTION [DRAFT [PASSAGE ...]]`, Node 18 or later, no packages.
// Facts of the draft are checked against the passages, with --search against the account's documents; without
// passages and --search only rules and moderation look at the draft.
// HUSHGATE_GATEWAY is the gateway, HUSHGATE_TOKEN an API token with the scope check, ACCOUNT the account.
import { randomUUID } from "node:crypto";
import { pathToFileURL } from "node:url";

const { HUSHGATE_GATEWAY, HUSHGATE_TOKEN, ACCOUNT } = process.env;

// The verdict on a message, and on the draft that answers it; an error means that nothing may be sent.
export async function check({ message = "", draft, passages, search = false, history = [] }) {
  const body = { id: randomUUID(), user_id: ACCOUNT, message, draft, history, search, passages: passages?.map((text) => ({ text })) };
  const answer = await fetch(`${HUSHGATE_GATEWAY}/v1/checks`, {
    method: "POST",
    headers: { Authorization: `Bearer ${HUSHGATE_TOKEN}`, "Content-Type": "application/json", "Hushgate-Deadline-Ms": "8000" },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(20_000),
  });
  if (!answer.ok) throw new Error(`${answer.status}: ${(await answer.json()).detail}`);
  return answer.json();
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const words = process.argv.slice(2);
  const search = words[0] === "--search";
  const [message, draft, ...passages] = search ? words.slice(1) : words;
  const { verdict, text, reason_code } = await check({ message, draft, search, passages: passages.length ? passages : undefined });
  console.log(verdict, text ?? reason_code);
}
