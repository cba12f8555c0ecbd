"""The case file: everything that a decision's page shows, in one file for a complaint or a court."""

from __future__ import annotations

from typing import Any, Final

import orjson
from starlette.responses import Response

from db.access_log import LoggedAction
from db.answers.state import FIELDS
from review.decision import page
from review.decision.view import whole_message
from review.http.visit import Refused, Visit
from review.languages import mark

HELD: Final = Refused(
    409,
    "You hold this decision in a queue",
    "The case file has the reviews and answers of others. Review the decision first.",
)
TITLES: Final = {
    "file": mark("This file"),
    "outcome": mark("What became of the message"),
    "decision": mark("The decision"),
    "message": mark("The message"),
    "reply": mark("The reply"),
    "answers": mark("Answers of people"),
    "drafts": mark("Drafts that were not sent"),
    "passages": mark("Passages"),
    "settings": mark("Settings used by the decision"),
    "reviews": mark("Reviews"),
    "escalation": mark("The escalation"),
    "conversation": mark("The conversation"),
    "comments": mark("Comments"),
    "snapshot": mark("Stages, findings and assessment"),
}
"""The parts of a case file in their order, which a page names so."""
REPLY: Final = "reply_"


async def download_case(visit: Visit) -> Response:
    """The file, with the rights of the page; a cover counts as lifted, and the access log has the download.

    Raises:
        Refused: 404 or 410 as for the page; 409 while the person holds the decision in a queue.
    """
    if (await page.load_decision(visit)).blind:
        raise HELD
    values = await page.load_page(visit, LoggedAction.DOWNLOAD)
    case = orjson.dumps(_case(visit, values), default=list, option=orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS)
    text = visit.fragment(
        "decision/case_file.html",
        titles=TITLES,
        case=orjson.loads(case),
        json=orjson.dumps(orjson.loads(case), option=orjson.OPT_INDENT_2).decode(),
    )
    name = f"case-{values['row']['id']}.html"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, headers=headers, media_type="text/html")


def _case(visit: Visit, values: dict[str, Any]) -> dict[str, Any]:
    """The parts by name, as JSON can have them."""
    row, record, view, panel = (values[name] for name in ("row", "record", "view", "panel"))
    answering = values["answering"]
    apart = {"snapshot_json", "message_text", "newest_answer", *FIELDS}
    return {
        "file": {"made_at": visit.now, "made_by": visit.person.login, "decision": row["id"]},
        "outcome": {
            "sentence": view.sentence,
            "when_decided": view.decided or view.sentence,
            "notices": view.notices,
            "review": panel.state,
        }
        | {name: row[name] for name in FIELDS},
        "decision": {
            name: value for name, value in row.items() if name not in apart and not name.startswith(REPLY)
        },
        "message": {
            "text": whole_message(record)[0],
            "stored_text": row["message_text"],
            "in_history": record.history,
            "in_quarantine": record.sealed,
        },
        "reply": {name.removeprefix(REPLY): row[name] for name in row if name.startswith(REPLY)}
        | {"webhooks": values["webhooks"], "retractions": values["retractions"]},
        "answers": answering.answers,
        "drafts": answering.held.texts,
        "passages": values["passages"],
        "settings": {"used": record.settings.used, "in_force": record.settings.now},
        "reviews": panel.reviews,
        "escalation": {"escalation": values["handoff"], "owner": record.owner},
        "conversation": {"before": values["before"], "after": values["after"]},
        "comments": values["collaboration"].comments,
        "snapshot": row["snapshot_json"],
    }
