// Sends Hushgate's replies to a channel and the channel's messages to Hushgate, over HTTP in both directions.
// Node 18 or later, no packages.
//
//   WEBHOOK_SECRET=whsec_... CHANNEL_URL=https://channel.example CHANNEL_SECRET=whsec_... ACCOUNT=corner-shop \
//     HUSHGATE_URL=http://localhost:8085 HUSHGATE_TOKEN=... JOURNAL=sent.ndjson PORT=8091 node consumer.mjs
//
// `hushgate webhooks add corner-shop http://127.0.0.1:8091/hushgate` prints the secret. This address, without https,
// needs HUSHGATE_WEBHOOK_LOOPBACK=true for that command and for the workers.
//
// POST /hushgate takes the webhooks of Hushgate, POST /channel the messages of the channel. A webhook is
// acknowledged after the channel took the reply and the journal has its id: what fails is delivered again.
// Replace `send`, `remove`, `announce` and `eventOf` by the requests and the messages of your channel.

import { createHmac, timingSafeEqual } from "node:crypto";
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { createServer } from "node:http";

const WINDOW_S = 300; // an older signature may be a replay
const MOST_BYTES = 1_000_000;
const TIMEOUT_MS = 10_000; // Hushgate waits 20 s for the answer to a webhook

class Failure extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

function setting(name) {
  if (!process.env[name]) throw new Failure(0, `${name}: expected a value, got nothing`);
  return process.env[name];
}

// ---- Standard Webhooks: the signature of "id.timestamp.body", by one or, while it is changed, two secrets.

function verify(headers, body, secret, now = Date.now() / 1000) {
  const [id, timestamp, signatures] = ["id", "timestamp", "signature"].map((name) => headers[`webhook-${name}`] ?? "");
  if (!(Math.abs(now - Number(timestamp)) <= WINDOW_S))
    throw new Failure(401, `webhook-timestamp: expected a time at most ${WINDOW_S} s from now`);
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const expected = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest();
  const isExpected = (signature) => {
    const [version, value = ""] = signature.split(",");
    const given = Buffer.from(value, "base64");
    return version === "v1" && given.length === expected.length && timingSafeEqual(given, expected);
  };
  if (!signatures.split(" ").some(isExpected)) throw new Failure(401, "webhook-signature: expected that of the body");
}

// ---- The journal: what was sent and taken back, so that a repeated webhook changes nothing.

class Journal {
  constructor(path) {
    this.replies = new Map();
    const lines = existsSync(path) ? readFileSync(path, "utf8").split("\n") : [];
    for (const line of lines) {
      try {
        if (line) this.#keep(JSON.parse(line));
      } catch {
        // the half line of a crash: its webhook was not acknowledged and comes again
      }
    }
    this.file = openSync(path, "a");
    writeSync(this.file, "\n");
    process.on("exit", () => closeSync(this.file));
  }

  of(key) {
    return this.replies.get(key) ?? {};
  }

  write(key, fields) {
    writeSync(this.file, `${JSON.stringify({ key, ...fields })}\n`);
    fsyncSync(this.file);
    this.#keep({ key, ...fields });
  }

  #keep({ key, ...fields }) {
    this.replies.set(key, { ...this.of(key), ...fields });
  }
}

// ---- The channel: replace these functions.

// A token that is renewed, a conflict, a lock, a limit: the same request may succeed later.
const PASSING_STATUS = [401, 408, 409, 421, 423, 425, 429];
const LIMIT = /"(quota|daily_?limit|(user_?)?rate_?limit|serving_?limit)_?exceeded"|"rate_?limited"|"resource_?exhausted"/i;

// Whether an error names a limit: some channels answer 403 to a quota that is used up.
async function namesLimit(answer) {
  return LIMIT.test(await answer.text().catch(() => ""));
}

async function call(url, method, key, body, token = "") {
  let answer;
  try {
    answer = await fetch(url, {
      method,
      headers: { "content-type": "application/json", "idempotency-key": key, authorization: `Bearer ${token}` },
      body: body && JSON.stringify(body),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  } catch (error) {
    throw new Failure(503, `${new URL(url).pathname}: no answer: ${error.message}`);
  }
  if (answer.ok) return answer.status === 204 ? {} : await answer.json().catch(() => ({}));
  const isPassing = PASSING_STATUS.includes(answer.status) || answer.status >= 500 || (await namesLimit(answer));
  throw new Failure(isPassing ? 503 : 422, `${new URL(url).pathname}: status ${answer.status}`);
}

async function send(reply, key) {
  const message = { conversation: reply.conversation_id, answers: reply.message_id, text: reply.text };
  const { id } = await call(`${setting("CHANNEL_URL")}/messages`, "POST", key, message);
  if (!id) throw new Failure(422, "/messages: expected an id in the answer, got none");
  return id;
}

async function remove(sentId, key) {
  await call(`${setting("CHANNEL_URL")}/messages/${encodeURIComponent(sentId)}`, "DELETE", key);
}

async function announce(escalation, key) {
  const note = { conversation: escalation.conversation_id, text: `A person must answer: ${escalation.reason}` };
  await call(`${setting("CHANNEL_URL")}/notes`, "POST", key, note);
}

function eventOf(message) {
  if (message.from === "bot") return null; // ours, or of another machine: never an event
  return {
    event_id: message.id,
    user_id: setting("ACCOUNT"),
    type: message.from === "team" ? "agent_message" : "message", // the AI is silent after a person wrote
    scope: "chat",
    conversation_id: message.conversation,
    message_id: message.id,
    author_id: message.author,
    text: message.text,
    created_at: message.at,
  };
}

// ---- Webhooks in, and events out.

const handlers = {
  async "reply.created"(reply, key, journal) {
    const { sentId, takenBack, refused } = journal.of(key);
    if (!sentId && !takenBack && !refused) journal.write(key, { sentId: await send(reply, key) });
  },
  async "reply.retracted"(retraction, key, journal) {
    journal.write(key, { takenBack: true });
    const { sentId } = journal.of(key);
    if (sentId) await remove(sentId, `retraction ${key}`);
  },
  async "escalation.opened"(escalation, key) {
    await announce(escalation, `escalation ${key}`);
  },
};

const running = new Map();

function inTurn(key, work) {
  const turn = (running.get(key) ?? Promise.resolve()).then(work, work);
  running.set(key, turn);
  const forget = () => running.get(key) === turn && running.delete(key);
  turn.then(forget, forget);
  return turn;
}

async function takeWebhook(headers, body, journal) {
  verify(headers, body, setting("WEBHOOK_SECRET"));
  const { type, data } = parsed(body);
  if (!Object.hasOwn(handlers, type)) return; // of a later release, or nothing to do
  if (!data?.user_id || !data.event_id) throw new Failure(400, "data: expected user_id and event_id");
  const key = `${data.user_id}/${data.event_id}`;
  try {
    await inTurn(key, () => handlers[type](data, key, journal));
  } catch (error) {
    if (error.status !== 422) throw error;
    console.error(`${type} ${key}: refused by the channel: ${error.message}`);
    // To repeat it would change nothing. A note about an event does not refuse the reply to it.
    if (type === "reply.created") journal.write(key, { refused: error.message });
  }
}

async function takeMessage(headers, body) {
  verify(headers, body, setting("CHANNEL_SECRET"));
  const event = eventOf(parsed(body));
  if (!event) return;
  await call(`${setting("HUSHGATE_URL")}/api/v1/events`, "POST", event.event_id, event, setting("HUSHGATE_TOKEN"));
}

function parsed(body) {
  try {
    return Object(JSON.parse(body));
  } catch {
    throw new Failure(400, "body: expected JSON, got another text");
  }
}

async function read(request) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MOST_BYTES) throw new Failure(413, `body: expected at most ${MOST_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function answer(request, journal) {
  const path = `${request.method} ${request.url}`;
  const body = await read(request);
  if (path === "POST /hushgate") await takeWebhook(request.headers, body, journal);
  else if (path === "POST /channel") await takeMessage(request.headers, body);
  else throw new Failure(404, "expected POST /hushgate or POST /channel");
}

function main() {
  for (const name of ["WEBHOOK_SECRET", "CHANNEL_SECRET", "CHANNEL_URL", "ACCOUNT", "HUSHGATE_URL", "HUSHGATE_TOKEN"])
    setting(name);
  const journal = new Journal(setting("JOURNAL"));
  const server = createServer({ requestTimeout: TIMEOUT_MS }, async (request, response) => {
    try {
      await answer(request, journal);
      response.writeHead(204).end();
    } catch (error) {
      console.error(error.message);
      response.writeHead(error.status || 500, { "content-type": "text/plain" }).end(error.message);
    }
  });
  server.listen(Number(process.env.PORT ?? 8091), "127.0.0.1", () => {
    console.log(`listening on port ${server.address().port}`);
  });
  const stop = () => {
    server.close(); // requests under way are answered
    server.closeIdleConnections();
  };
  for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, stop);
}

try {
  main();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
