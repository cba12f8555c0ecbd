// Vercel AI SDK 7, Node 22 or later: a middleware that checks each message before the model is asked, and each text
// before it is used.
// A stream is checked whole: its text comes at once, after the verdict.
import { simulateStreamingMiddleware, wrapLanguageModel } from "ai";
import { check } from "./check.mjs";

const SILENT = { hold: "A person will answer you.", block: "" };
const words = (content) => content.filter((each) => each.type === "text").map((each) => each.text).join("");

export const hushgate = ({ passages } = {}) => ({
  specificationVersion: "v4",
  wrapGenerate: async ({ doGenerate, params }) => {
    const lines = params.prompt.filter(({ role }) => role === "user" || role === "assistant")
      .map(({ role, content }) => ({ role, text: words(content) })).filter(({ text }) => text);
    const message = lines.pop()?.text ?? "";
    const asked = await check({ message, history: lines });
    if (asked.verdict !== "allow") return said(SILENT[asked.verdict] ?? "", asked);
    const result = await doGenerate();
    const draft = words(result.content);
    if (!draft) return result; // a call of a tool; its answer is checked
    const found = await check({ message, draft, history: lines, passages });
    const text = found.text ?? SILENT[found.verdict];
    return { ...result, content: [...result.content.filter((each) => each.type !== "text"), { type: "text", text }] };
  },
});

const said = (text) => ({
  content: [{ type: "text", text }],
  finishReason: { unified: "content-filter", raw: "hushgate" },
  usage: { inputTokens: { total: 0 }, outputTokens: { total: 0 } },
  warnings: [],
});

export const guarded = (model, options) =>
  wrapLanguageModel({ model, middleware: [simulateStreamingMiddleware(), hushgate(options)] });
