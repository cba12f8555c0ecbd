"""What the team sees in Slack of a message that waits: its texts, buttons, the form, and who answered."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from typing import Final

from .recipe import Json, find, read

BLOCK_CHARS: Final = 2900
"""Slack takes 3,000 in a section, and escapes some characters."""
DRAFT_BLOCKS: Final = 4
FORM_CHARS: Final = 3000
PREFIX: Final = "hushgate_"
ACTIONS: Final = ("approve", "edit", "reject", "take")
EDITED: Final = f"{PREFIX}edited"
"""The form's callback."""
OUTCOMES: Final = {
    "unchanged": "approved the draft",
    "edited": "edited the draft",
    "replaced": "wrote an answer",
    "written": "wrote an answer",
    "dismissed": "closed it without an answer",
}


def waiting(decision: Json, drafts: Json, link: str, note: str = "") -> Json:
    """The message that asks the team. A covered text is not in it, and cannot be approved unread."""
    covered = [str(each) for each in drafts.get("covered") or ()]
    draft_id, draft = shown_draft(drafts)
    value = f"{read(decision, 'id', str)}/{draft_id}"
    reason = read(decision, "reason_code" if covered else "reason", str)
    lines = [f"*A person must answer*: {escaped(reason)}", note]
    blocks = [_marked("\n".join(filter(None, lines)))]
    if covered:
        blocks.append(_plain(f"Covered ({', '.join(covered)}): read it in Hushgate."))
    else:
        blocks.append(_plain(f"{read(decision, 'author_id', str)}: {read(decision, 'message_text', str)}"))
        blocks += [_marked("*Draft*"), *map(_plain, _pieces(draft))] if draft else []
    shown = not covered and len(draft) <= BLOCK_CHARS * DRAFT_BLOCKS
    names = ["approve"] if draft and shown else []
    names += ["edit"] if shown and len(draft) <= FORM_CHARS else []
    blocks.append(_buttons(names, value, link, has_draft=bool(draft)))
    return {"text": "A person must answer.", "blocks": blocks}


def closed(line: str, link: str, text: str = "") -> Json:
    """What stays of the message: who did what, and the answer."""
    blocks = [_marked(f"{line} <{link}|Open>")] + [_plain(piece) for piece in _pieces(text) if piece]
    return {"text": "Answered.", "blocks": blocks}


def notice(text: str) -> Json:
    """A message that one person sees."""
    return {"text": "Hushgate", "blocks": [_plain(piece) for piece in _pieces(text)]}


def form(press: Json, drafts: Json) -> Json:
    """The form in which a person changes the draft that was shown, or writes an answer."""
    draft_id, draft = shown_draft(drafts, press["draft"])
    element: Json = {"type": "plain_text_input", "action_id": "text", "multiline": True}
    element |= {"max_length": FORM_CHARS} | ({"initial_value": draft} if draft else {})
    field = {"type": "input", "block_id": "answer", "label": _text("Answer"), "element": element}
    return {
        "type": "modal",
        "callback_id": EDITED,
        "private_metadata": f"{press['decision']}/{draft_id}",
        "title": _text("Answer"),
        "submit": _text("Send"),
        "close": _text("Cancel"),
        "blocks": [field],
    }


def presses(payload: Json) -> list[Json]:
    """What a person pressed: one of ``ACTIONS`` or ``edited``, the decision, and the text of the form."""
    kind = find(payload, "type", str)
    if kind == "view_submission" and find(payload, "view.callback_id", str) == EDITED:
        text = read(payload, "view.state.values.answer.text.value", str)
        value, at = read(payload, "view.private_metadata", str), read(payload, "view.id", str)
        return [_press(payload, value, action="edited", at=at, text=text)]
    if kind != "block_actions":
        return []
    found = []
    for each in read(payload, "actions", list):
        action = read(each, "action_id", str).removeprefix(PREFIX)
        if action in ACTIONS:  # others lead to a page
            value, at = read(each, "value", str), read(each, "action_ts", str)
            trigger = read(payload, "trigger_id", str)
            found.append(_press(payload, value, action=action, at=at, trigger=trigger))
    return found


def shown_draft(drafts: Json, draft_id: str = "") -> tuple[str, str]:
    """Id and text of a draft, without an id of the first; empty: there is none."""
    for each in find(drafts, "drafts", list) or []:
        if draft_id in ("", str(each["id"])):
            return str(each["id"]), read(each, "text", str)
    return "", ""


def answered(answers: Sequence[object], who: str = "") -> tuple[str, str]:
    """Who did what by the newest answer, as Slack's markup, and the text that is sent."""
    if not answers:
        return "No answer is needed any more.", ""
    person = who or escaped(read(answers[-1], "person", str))
    outcome = read(answers[-1], "outcome", str)
    return f"{person} {OUTCOMES.get(outcome, escaped(outcome))}.", find(answers[-1], "text", str) or ""


def _press(payload: Json, value: str, **fields: str) -> Json:
    decision, _, draft = value.partition("/")
    return {"user": read(payload, "user.id", str), "decision": decision, "draft": draft, **fields}


def _buttons(names: Sequence[str], value: str, link: str, *, has_draft: bool) -> Json:
    texts = {
        "approve": "Approve",
        "edit": "Edit" if has_draft else "Write",
        "reject": "Reject",
        "take": "Take",
    }
    styles = {"approve": {"style": "primary"}, "reject": {"style": "danger"}}
    elements: list[Json] = [
        {
            "type": "button",
            "action_id": f"{PREFIX}{name}",
            "text": _text(texts[name]),
            "value": value,
            **styles.get(name, {}),
        }
        for name in (*names, "reject", "take")
    ]
    page = {"type": "button", "action_id": f"{PREFIX}open", "text": _text("Open"), "url": link}
    return {"type": "actions", "block_id": "answer", "elements": [*elements, page]}


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, min(len(text), BLOCK_CHARS * DRAFT_BLOCKS), BLOCK_CHARS):
        yield text[start : start + BLOCK_CHARS]


def _plain(text: str) -> Json:
    """A section whose text is shown as it is: no mention, link or emoji of its author's."""
    return {"type": "section", "text": _text(text)}


def _marked(text: str) -> Json:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text[:BLOCK_CHARS]}}


def _text(text: str) -> Json:
    return {"type": "plain_text", "text": text, "emoji": False}


def escaped(text: str) -> str:
    """A text in which ``<!channel>`` notifies no one."""
    return html.escape(text, quote=False)
