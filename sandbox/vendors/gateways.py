"""Gateways whose errors have forms of their own: Cloudflare's, Baidu's and Open WebUI."""

from __future__ import annotations

from sandbox.vendors.form import Meaning, Vendor, answered, choice, refused, said, text

WORKERS_AI = "developers.cloudflare.com/workers-ai: errors"
CODES = "cloud.baidu.com/doc/WENXINWORKSHOP: error codes"
TAGS = "docs.openwebui.com: reasoning tags"


def listed(code: int, words: str) -> dict[str, object]:
    """An error in a list beside an empty result."""
    return {"success": False, "errors": [{"code": code, "message": words}], "messages": [], "result": None}


def flat(code: int, words: str) -> dict[str, object]:
    """An error with fields of its own, also in a success."""
    return {"error_code": code, "error_msg": words, "id": "as-1"}


CLOUDFLARE = Vendor(
    name="cloudflare",
    forms=(
        refused("key", Meaning.KEY, WORKERS_AI, 401, listed(10000, "Authentication error")),
        refused("capacity", Meaning.LATER, WORKERS_AI, 429, listed(3040, "Capacity temporarily exceeded, please try again.")),
        answered("hidden_capacity", Meaning.LATER, WORKERS_AI, said(listed(3040, "Capacity temporarily exceeded: at capacity"))),
    ),
)  # fmt: skip
QIANFAN = Vendor(
    name="qianfan",
    forms=(
        answered("normal", Meaning.WHOLE, CODES, choice(finish_reason="normal")),
        answered("hidden_rate", Meaning.LATER, CODES, said(flat(18, "Open api qps request limit reached: rate limit"))),
        answered("hidden_key", Meaning.KEY, CODES, said(flat(110, "Access token invalid or no longer valid"))),
    ),
)  # fmt: skip
OPEN_WEBUI = Vendor(
    name="open-webui",
    forms=(
        answered("reasoning_details", Meaning.WHOLE, TAGS, text(lambda said: f'<details type="reasoning" done="true" duration="3">\n<summary>Thought for 3 seconds</summary>\n> Hours.\n</details>\n{said}')),
        answered("escaped_thoughts", Meaning.WHOLE, TAGS, text(lambda said: f"&lt;think&gt;Hours.&lt;/think&gt;\n{said}")),
        refused("key", Meaning.KEY, TAGS, 401, {"detail": "401 Unauthorized"}),
    ),
)  # fmt: skip
