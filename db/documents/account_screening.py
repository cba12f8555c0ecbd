"""Settings of an account applied to its documents: flagged chunks, and texts for embedding vendors."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from db.account_settings.accounts import current_account
from db.pool import Pool
from worker.documents.model import Chunk
from worker.masking import account_masker
from worker.model import Account
from worker.passage_screening import passage_flags
from worker.rules import CompiledRules, compile_account_rules, compile_rules

NO_RULES: Final = compile_rules((), (), version=0)


class AccountScreening:
    """Texts of documents and queries under the settings in force; each account is read once.

    Args:
        source: connections in a role that may read ``ai_rules``.
    """

    def __init__(self, source: Pool) -> None:
        self._source = source
        self._accounts: dict[str, Account] = {}
        self._rules: dict[str, CompiledRules] = {}

    async def masked(self, user_id: str, text: str) -> str:
        """A text as an embedding vendor may read it."""
        return account_masker(await self._account(user_id)).mask(text)

    async def flags(self, user_id: str, chunks: Sequence[Chunk]) -> tuple[tuple[str, ...], ...]:
        """The checks that each chunk fails, in the order of the chunks."""
        account = await self._account(user_id)
        if user_id not in self._rules:
            tested = account.rules_on_passages
            self._rules[user_id] = (
                await asyncio.to_thread(compile_account_rules, account) if tested else NO_RULES
            )
        rules = self._rules[user_id]
        return await asyncio.to_thread(
            lambda: tuple(passage_flags(chunk.title, chunk.text, account, rules) for chunk in chunks)
        )

    async def _account(self, user_id: str) -> Account:
        if user_id not in self._accounts:
            self._accounts[user_id] = await current_account(self._source, user_id)
        return self._accounts[user_id]
