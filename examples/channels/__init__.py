"""Channels around Hushgate: messages in, replies out. The guide is docs/channels.md."""

from . import chatwoot, discord, intercom, slack, telegram, youtube, zendesk
from .recipe import Recipe

CHANNELS: dict[str, Recipe] = {
    each.RECIPE.name: each.RECIPE for each in (slack, chatwoot, telegram, discord, intercom, zendesk, youtube)
}
