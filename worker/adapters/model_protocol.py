"""What a model writes for its server and not for the reader: thoughts, channels, end marks, calls as text.

Thoughts, channels and end marks are removed; what cannot be removed for sure makes the text unusable. The
forms are listed in ``docs/vendors.md``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import orjson

from worker.generation import ESCALATE_TOOL, SEARCH_TOOL

KNOWN_TOOLS: Final = frozenset({SEARCH_TOOL, ESCALATE_TOOL})

_THOUGHT: Final = (
    r"(?:[\w:.-]{0,30}?(?:think(?:ing)?|thoughts?|reasoning|reflection|scratch_?pad|monologue|rationale)"
    r"(?:[_:.-][\w:.-]{0,30})?|analysis|chain_of_thought|cot|plan)"
)
_OPENED: Final = rf"(?:<|&lt;)\s*{_THOUGHT}(?:\s+\w+\s*=[^<>]{{0,200}})?\s*(?:>|&gt;)"
_CLOSED: Final = rf"(?:<|&lt;)\s*(?:/\s*{_THOUGHT}|{_THOUGHT}\s*/)\s*(?:>|&gt;)"
THOUGHTS: Final = tuple(
    (signs, re.compile(opened, re.IGNORECASE), re.compile(closed, re.IGNORECASE))
    for signs, opened, closed in (
        ("<;", _OPENED, _CLOSED),
        (("...",), r"\A\s*Thinking\.\.\.", r"\.\.\.\s*done thinking\.?"),
        ("]", rf"\[{_THOUGHT}\](?!\()", rf"\[/{_THOUGHT}\]"),
        ("]", r"\[unused16\]", r"\[unused17\]"),
        ("▷▸", rf"[◁◂]{_THOUGHT}[▷▸]", rf"[◁◂]/{_THOUGHT}[▷▸]"),
        ("|", r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),
        ("|", r"<\|START_THINKING\|>", r"<\|END_THINKING\|>"),
        ("|", r"<\|(?:think(?:ing)?|thoughts?)\|>", r"<\|/(?:think(?:ing)?|thoughts?)\|>"),
        ("|", r"<\|channel>thought\b", r"<channel\|>"),
        (">", r"<(?:unused|ctrl)94>(?:thought)?", r"<(?:unused|ctrl)95>"),
    )
)
"""Marks around thoughts, with signs of which each mark has one.

All before a lone closing mark is thought, and all after a lone opening mark.
"""
_CODE: Final = r"```.*?(?:```|\Z)|`[^`\n]*`"
CODE: Final = re.compile(_CODE, re.DOTALL)
ASIDES: Final = re.compile(
    rf"(?P<code>{_CODE})|<!--.*?(?:-->|\Z)"
    r"|<details\b[^<>]{0,200}\breasoning\b[^<>]{0,200}>.*?(?:</details>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
"""Elements of HTML that hold a thought; their ends alone are ordinary text ("Settings --> Account")."""
LABELLED: Final = re.compile(
    r"\A\W{0,3}(?:thoughts?|thinking(?: process)?|reasoning|analysis"
    r"|here(?:'s| is) my thought process)\W{0,3}:.*"
    r"(?:^\W{0,5}(?:final[ _]?answer|answer|final response|response|reply)\W{0,2}:"
    r"|here(?:'s| is) my response:)",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)
"""A thought and then the answer, each behind its name."""
UNANSWERED: Final = re.compile(
    r"\A\W{0,3}(?:(?:thoughts?|thinking(?: process)?)(?:\W{0,3}:|[^\w\n]{0,3}\n)"
    r"|here are my reasoning steps:)",
    re.IGNORECASE,
)
"""A thought by its name, without an end."""
CITED: Final = re.compile(
    r"(?<!\s)\s*+(?:【(?:[^【】]{0,80}†[^【】]{0,80}|turn\d+[a-z]+\d+)】|\ue200[^\ue200-\ue202]*(?:\ue202[^\ue200-\ue202]*)*\ue201"
    r"|\bcite(?:turn\d+[a-z]+\d+)+|:contentReference\[oaicite:\d+\]\{index=\d+\})"
)
CITED_SIGNS: Final = ("【", "\ue200", "cite")
NO_TEXT: Final = re.compile(
    r"null|undefined|NaN|\[object Object\]|<(?:!doctype html|html)\b.*|\{\s*\"error\"\s*:.*\}"
    r"|\{\s*\}|\[\s*\]|\"\"|\[(?:\w{1,10} )?error\]\W.*|(?:api error|error code): \d{3}\b(?: -)? ?\{.*",
    re.IGNORECASE | re.DOTALL,
)
"""What a gateway wrote in place of a text."""
"""References to a vendor's own search, which name nothing of ours, and texts of which each has one."""
JSON_TEXT: Final = re.compile(r"(?:```(?:json)?\s*)?(\{.*\})\s*(?:```)?", re.DOTALL)
TEXT_KEYS: Final = frozenset(
    {"answer", "response", "reply", "final_answer", "message", "output", "text", "content"}
)
WRAPPER: Final = re.compile(
    r"<(?P<name>answer|final|final_answer|response|reply|output|assistant|json)>(?P<text>.*?)(?:</(?P=name)>)?",
    re.IGNORECASE | re.DOTALL,
)
FENCE: Final = re.compile(
    r"```[ \t]*+(?:markdown|md|text|txt|plain(?:text)?)?[ \t]*+\n(?P<text>(?:(?!```).)*)```",
    re.IGNORECASE | re.DOTALL,
)
"""A fence around the whole text that names no language of code: a channel would show its marks."""
SOLUTION: Final = re.compile(
    r"<\|(?:begin_of_solution|START_RESPONSE|START_TEXT)\|>|<\|begin_of_box\|>|\[BEGIN FINAL RESPONSE\]",
    re.IGNORECASE,
)
HARMONY: Final = re.compile(r"<\|(?:channel|message|start|constrain)\|>")
HARMONY_FINAL: Final = re.compile(
    r"<\|channel\|>\s*final\b[^<]{0,40}(?:<\|constrain\|>[^<]{0,40})?<\|message\|>"
)
HARMONY_BARE: Final = re.compile(r"\s*(?:assistant\s*)?analysis\S.*?assistant\s*final(?=\S|\s)", re.DOTALL)
"""The Harmony channels where the server dropped the marks and kept the names of the channels."""
ROLE: Final = re.compile(
    r"\s*(?:<\|im_start\|>\s*assistant\s*\n?|<\|start_header_id\|>\s*assistant\s*<\|end_header_id\|>\s*"
    r"|<start_of_turn>\s*model\s*\n?|<\|assistant\|>|<｜Assistant｜>|<s>|<bos>|<\|begin_of_text\|>"
    r"|<\|START_OF_TURN_TOKEN\|>\s*(?:<\|CHATBOT_TOKEN\|>)?|assistant\s*\n\s*\n|(?:assistant|chatbot)\s*:\s+"
    r"|\[\|assistant\|\]|<\|start_of_role\|>\s*assistant\s*<\|end_of_role\|>|<extra_id_1>\s*assistant\s*\n"
    r"|<(?:pad|unk)>|#{1,4}\s*(?:response|assistant|answer|reply)\s*(?::|\n)|here(?:'s| is) my response:"
    r"|\*{0,2}(?:ai|bot|(?:final )?answer|response|reply)\s*(?::\*{0,2}|\*{1,2}:)\s+|(?-i:final(?=[A-Z]))"
    r"|/(?:no_?)?think\s)",
    re.IGNORECASE,
)
END: Final = re.compile(
    r"<\|(?:im_end|im_start|endoftext|end_of_text|eot_id|eom_id|end|return|call|endofturn|end_of_turn|user|"
    r"system|observation|end_of_solution|END_RESPONSE|END_TEXT|END_OF_TURN_TOKEN|start_header_id|end_of_box|"
    r"eos|stop|fim_end|sep|separator)\|>"
    r"|<｜(?:end▁of▁sentence|User|begin▁of▁sentence)｜>|</s>|<s>|<eos>|<end_of_turn>|<start_of_turn>"
    r"|<turn\|>|\[/?INST\]|<</?SYS>>|<\|end▁of▁sentence\|>|<end_of_utterance>|<\[end\]>|\[end of text\]"
    r"|\[\|\w{1,20}\|\]|\[(?:PAD|EOS|BOS|SEP|UNK|unused10|END FINAL RESPONSE)\]|<\|assistant\|>"
    r"|\s/(?:no_?)?think\s*\Z|<(?:pad|unk|eod|EOM|EOT|END|ctrl\d+|extra_id_\d+|special_\d+|reserved_\d+)>"
    r"|\n[^\S\n]*+(?:#{1,4}\s*(?:user|human|instruction|input)\s*:|<(?:human|user|bot)>\s*:|human\s*:\s"
    r"|(?:user|customer)\s*:[^\n]*\n\s*(?:assistant|ai|bot|agent)\s*:)",
    re.IGNORECASE,
)
"""Where the model's turn ends: what follows is another turn, which the model made up."""
MARKED_CALL: Final = re.compile(
    r"<\s*/?\s*(?:[\w.]{1,30}:)?(?:tool_?calls?|tool_?use|tool_?code|tool_?response|function_?calls?|invoke"
    r"|parameter|arguments)\b[^<>]{0,200}>"
    r"|<\s*/?function\b[^<>]{0,200}>|<\s*(?:start|end)_function_call\s*>"
    r"|\[/?(?:TOOL_?CALLS?|TOOL_?REQUEST|TOOL_?RESULTS?|FUNCTION_?CALLS?|AVAILABLE_TOOLS|ARGS|unused1[12])\]"
    r"|\{\s*\"tool_calls\"\s*:|\[(?:calling|called|using|call) (?:the )?(?:tool|function)\b"
    r"|```\s*tool_?(?:code|call|output)|[◁◂]/?(?:tool|function)_?\w{0,20}[▷▸]|</?passages\s+\w",
    re.IGNORECASE,
)
NAMED_CALL_SIGNS: Final = (
    *("dsml", "functions.", "action input", "default_api.", SEARCH_TOOL, ESCALATE_TOOL),
    *("functools[", "multi_tool_use.", "to=", "✿"),
)
NAMED_CALL: Final = re.compile(
    r"DSML|\bto=functions\.|(?<!\S)to=(?:browser|python|web)\b|^functools\[|\bmulti_tool_use\."
    r"|✿(?:FUNCTION|ARGS|RE\w{4})✿|^[^\S\n]*+Action Input\s*:|\bdefault_api\.|\bfunctions\.\w+\s*[({]"
    rf"|\b{SEARCH_TOOL}\b|\b{ESCALATE_TOOL}\((?:\w+\s*[=:]|[\"'{{])",
    re.IGNORECASE | re.MULTILINE,
)
"""Calls of tools as text, and the marks of our own prompt; in small letters, each has one of the signs."""
MARK: Final = re.compile(
    r"<\|[\w▁/\-\"]{1,40}\|?>|<[\w▁]{1,30}\|>|<｜[^<>｜]{1,40}｜>|<(?:unused\d+|(?:start|end)_of_\w{1,20})>"
    r"|<0x[0-9A-F]{2}>|</co: ?\d"
    r"|(?:[Ġ▁][^\sĠ▁]{1,30}){3}"
)
MARK_SIGNS: Final = "<Ġ▁"
"""A mark of a model's vocabulary that no rule above knows, or its spaces in place of ours."""
CLOSING_TAG: Final = re.compile(r"</([a-z][\w:.-]{0,40})\s*>", re.IGNORECASE)
HTML_TAGS: Final = frozenset([
    "a", "abbr", "address", "article", "aside", "audio", "b", "blockquote", "body", "br", "button",
    "caption", "center", "cite", "code", "dd", "del", "details", "div", "dl", "dt", "em", "figcaption",
    "figure", "font", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "hr", "html",
    "i", "iframe", "img", "input", "ins", "kbd", "label", "li", "link", "main", "mark", "meta", "nav",
    "noscript", "ol", "option", "p", "picture", "pre", "q", "s", "script", "section", "select", "small",
    "span", "strike", "strong", "style", "sub", "summary", "sup", "svg", "table", "tbody", "td", "textarea",
    "tfoot", "th", "thead", "time", "title", "tr", "tt", "u", "ul", "var", "video",
])  # fmt: skip
"""Tags that a reply may show; the end of any other tag outside of code is protocol."""
CALL_TEXTS: Final = (
    re.compile(
        r"<(?:tool_call|function_call|tool_use)>\s*(?P<call>.*?)\s*(?:</(?:tool_call|function_call|tool_use)>)?",
        re.DOTALL,
    ),
    re.compile(r"<\|?tool_call\|?>\s*(?P<call>\{.*?)\s*(?:<\|?/?tool_call\|?>)?", re.DOTALL),
    re.compile(r"\[TOOL_CALLS\]\s*(?P<call>.*)", re.DOTALL),
    re.compile(r"\[TOOL_REQUEST\]\s*(?P<call>.*?)\s*(?:\[END_TOOL_REQUEST\])?", re.DOTALL),
    re.compile(r"<\|python_tag\|>\s*(?P<call>\{.*)", re.DOTALL),
    re.compile(r"```(?:json|tool_call)?\s*(?P<call>[\[{].*?)\s*```", re.DOTALL),
    re.compile(r"(?P<call>[\[{].*)", re.DOTALL),
)
"""Whole texts that are one call, or a list of calls, as JSON."""
FUNCTION_CALL: Final = re.compile(
    r"<function=(?P<name>\w+)>\s*(?P<arguments>\{.*?\})\s*(?:</function>)?", re.DOTALL
)
CALL_NAMES: Final = ("name", "tool", "action", "tool_name")
CALL_INPUTS: Final = ("arguments", "parameters", "args", "input", "action_input", "tool_input")
CALL_KEYS: Final = frozenset({*CALL_NAMES, *CALL_INPUTS, "type", "function", "id"})


def spoken(text: str) -> str:
    """The text without thoughts, channels, role names and end marks; possibly empty."""
    text = _without_references(_final_channel(text))
    if (labelled := LABELLED.match(text)) is not None:
        text = text[labelled.end() :].lstrip(" *")
    if "<" in text:
        text = ASIDES.sub(lambda found: found["code"] or "", text)
    for signs, opened, closed in THOUGHTS:
        if _has_any(text, signs):
            text = _without_thoughts(text, opened, closed)
    if started := list(SOLUTION.finditer(text)):
        text = text[started[-1].end() :]
    while (role := ROLE.match(text)) is not None:
        text = text[role.end() :]
    if (end := END.search(text)) is not None:
        text = text[: end.start()]
    if (wrapped := WRAPPER.fullmatch(text.strip())) is not None:
        text = wrapped["text"]
    if (fenced := FENCE.fullmatch(text.strip())) is not None:
        text = fenced["text"]
    return _text_of_json(text.strip())


def protocol_in(text: str) -> str:
    """The kind of protocol that is left in a spoken text; empty without any."""
    if MARKED_CALL.search(text) or _names_a_call(text) or _is_call(_parsed(text)):
        return "a tool call as text"
    if UNANSWERED.match(text):
        return "a thought without an answer"
    if NO_TEXT.fullmatch(text):
        return "no text"
    if not _has_any(text, MARK_SIGNS):
        return ""
    ends = (found[1].lower() for found in CLOSING_TAG.finditer(CODE.sub("", text)))
    is_marked = MARK.search(text) is not None or not HTML_TAGS.issuperset(ends)
    return "marks of the model" if is_marked else ""


def _names_a_call(text: str) -> bool:
    return _has_any(text.casefold(), NAMED_CALL_SIGNS) and NAMED_CALL.search(text) is not None


def _has_any(text: str, signs: Iterable[str]) -> bool:
    return any(map(text.__contains__, signs))


def _text_of_json(text: str) -> str:
    """The text in a JSON object that holds nothing else."""
    if (shaped := JSON_TEXT.fullmatch(text)) is None:
        return text
    try:
        found = orjson.loads(shaped[1])
    except orjson.JSONDecodeError:
        return text
    if found.get("role") == "assistant":
        del found["role"]
    if str(found.get("action")).lower() == "final answer":
        found = {"text": found.get("action_input")}
    ((key, value), *others) = found.items() if found else ((None, None),)
    return value.strip() if not others and key in TEXT_KEYS and isinstance(value, str) else text


def calls_in(text: str) -> tuple[tuple[str, Any], ...]:
    """The calls of known tools, as name and arguments, of a text that has nothing else; otherwise empty."""
    named = FUNCTION_CALL.fullmatch(text)
    if named is not None:
        found: Any = [{"name": named["name"], "arguments": named["arguments"]}]
    else:
        read = _parsed(text)
        found = read if isinstance(read, list) else [read]
    calls = [_call(each) for each in found]
    known = tuple(each for each in calls if each is not None and each[0] in KNOWN_TOOLS)
    return known if known and len(known) == len(calls) else ()


def _final_channel(text: str) -> str:
    """The text of the final channel, where a text has channels."""
    if (bare := HARMONY_BARE.match(text)) is not None:
        return text[bare.end() :]
    if not HARMONY.search(text):
        return text
    finals = list(HARMONY_FINAL.finditer(text))
    if finals:
        return text[finals[-1].end() :]
    ended = text.rfind("<|end|>")
    after = text[ended + len("<|end|>") :]
    return text if ended < 0 or HARMONY.search(after) else after


def _without_references(text: str) -> str:
    return CITED.sub("", text) if _has_any(text, CITED_SIGNS) else text


def _without_thoughts(text: str, opened: re.Pattern[str], closed: re.Pattern[str]) -> str:
    kept, at, depth = [], 0, 0
    marks = sorted(
        [(found, True) for found in opened.finditer(text)]
        + [(found, False) for found in closed.finditer(text)],
        key=lambda mark: mark[0].start(),
    )
    for found, opens in marks:
        if opens:
            if not depth:
                kept.append(text[at : found.start()])
            depth += 1
        else:
            if not depth:
                kept.clear()  # a lone closing mark: the server dropped the opening one
            depth = max(0, depth - 1)
        at = found.end()
    if not depth:
        kept.append(text[at:])
    return "".join(kept)


def _parsed(text: str) -> Any:
    """The JSON value of a text in one of ``CALL_TEXTS``, or None."""
    text = text.strip()
    if not text.startswith(("<", "[", "{", "`")):
        return None
    for shape in CALL_TEXTS:
        if (found := shape.fullmatch(text)) is not None:
            try:
                read = orjson.loads(found["call"])
            except orjson.JSONDecodeError:
                continue
            return read["tool_calls"] if isinstance(read, dict) and read.keys() == {"tool_calls"} else read
    return None


def _is_call(value: Any) -> bool:
    values = value if isinstance(value, list) else [value]
    return bool(values) and all(_call(each) is not None for each in values)


def _call(value: Any) -> tuple[str, Any] | None:
    """Name and arguments of a call in one of its JSON forms, or None."""
    if not isinstance(value, Mapping) or not value or not value.keys() <= CALL_KEYS:
        return None
    inner = value.get("function")
    if isinstance(inner, Mapping):
        return _call(inner)
    named = (value[key] for key in (*CALL_NAMES, "function") if isinstance(value.get(key), str))
    name = next(named, None)
    for key in CALL_INPUTS:
        if key in value and isinstance(name, str):
            return name, value[key]
    return None
