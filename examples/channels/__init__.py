"""Channels around Hushgate: messages in, replies out. The guide is docs/channels.md."""

from . import discord, intercom, slack, youtube, zendesk
from .recipe import Recipe

CHANNELS: dict[str, Recipe] = {
    each.RECIPE.name: each.RECIPE for each in (slack, discord, intercom, zendesk, youtube)
}
