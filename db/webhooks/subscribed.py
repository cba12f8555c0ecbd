"""Whether a webhook endpoint receives events of a type, as a condition of other statements."""

from __future__ import annotations

from typing import Final

EVERY_ACCOUNT: Final = "*"
SUBSCRIBED: Final = f"""
    EXISTS (SELECT FROM webhook_endpoints w
            WHERE w.user_id IN ({{account}}, '{EVERY_ACCOUNT}') AND w.state = 'enabled'
                AND '{{type}}' = ANY(w.types))
"""
"""True when an endpoint receives this type of an account; one look at a small index."""
