"""The words of the moderation route by category: a demonstration list, far from complete."""

from __future__ import annotations

from collections.abc import Mapping

CATEGORIES = (
    "harassment",
    "harassment/threatening",
    "hate",
    "hate/threatening",
    "illicit",
    "illicit/violent",
    "self-harm",
    "self-harm/instructions",
    "self-harm/intent",
    "sexual",
    "sexual/minors",
    "violence",
    "violence/graphic",
)
"""The 13 categories of omni-moderation, in the order of openai 3.54 ``types/moderation.py``."""

IMAGE_CATEGORIES = frozenset(
    {
        "self-harm",
        "self-harm/instructions",
        "self-harm/intent",
        "sexual",
        "violence",
        "violence/graphic",
    }
)
"""The categories that apply to images too (same source)."""

FLAGGED_PHRASES: Mapping[str, tuple[str, ...]] = {
    "harassment": (
        "idiot", "idiots", "moron", "morons", "imbecile", "scumbag", "asshole", "assholes", "bitch",
        "bastard", "dickhead", "fuck you", "fuck off", "piece of shit", "pathetic loser",
        "you are worthless", "go to hell", "nobody likes you", "shut the fuck up", "cunt", "motherfucker",
    ),
    "harassment/threatening": (
        "i will find you", "i know where you live", "watch your back", "i will hurt you",
        "you will regret this", "i will break your legs",
    ),
    "hate": (
        "subhuman", "subhumans", "vermin", "go back to your country", "hate all immigrants",
        "hate muslims", "hate jews", "hate gays", "white power", "heil hitler", "faggot", "faggots",
        "inferior race",
    ),
    "hate/threatening": (
        "exterminate them", "gas the jews", "kill all muslims", "kill all jews", "lynch them",
        "deport or kill",
    ),
    "illicit": (
        "how to shoplift", "buy cocaine", "sell cocaine", "buy meth", "fake passport",
        "stolen credit cards", "stolen credit card", "launder money", "hack into", "forge a prescription",
    ),
    "illicit/violent": (
        "build a bomb", "make a bomb", "pipe bomb", "buy an illegal gun", "untraceable gun",
        "hire a hitman",
    ),
    "self-harm": (
        "suicide", "kill myself", "cut myself", "cutting myself", "hurt myself", "starve myself",
    ),
    "self-harm/instructions": (
        "how to kill myself", "how to commit suicide", "best way to die", "how to tie a noose",
        "kill yourself",
    ),
    "self-harm/intent": (
        "want to die", "going to kill myself", "want to kill myself", "end my life", "better off dead",
    ),
    "sexual": (
        "porn", "porno", "blowjob", "nudes", "send nudes", "naked pics", "horny", "sex chat", "cum",
        "dick pic",
    ),
    "sexual/minors": ("child porn", "underage sex", "kiddie porn"),
    "violence": (
        "kill you", "kill him", "kill her", "kill them", "murder you", "stab you", "shoot you",
        "beat you up", "punch you in the face", "burn your house",
    ),
    "violence/graphic": (
        "behead", "beheaded", "dismember", "dismembered", "blood everywhere", "guts spilled",
        "skull crushed",
    ),
}  # fmt: skip
"""Whole words and phrases that score 0.90 or more."""

MILD_PHRASES: Mapping[str, tuple[str, ...]] = {
    "harassment": (
        "stupid",
        "dumb",
        "loser",
        "pathetic",
        "shut up",
        "shit",
        "fuck",
        "fucking",
        "crap",
        "trash",
    ),
    "hate": ("immigrants", "infidel", "infidels", "gays"),
    "illicit": ("cocaine", "meth", "hacker", "shoplift", "counterfeit"),
    "illicit/violent": ("bomb", "explosives", "gun"),
    "self-harm": ("depressed", "hopeless", "self harm"),
    "sexual": ("sex", "sexy", "nude", "naked"),
    "violence": ("kill", "murder", "stab", "shoot", "fight", "punch"),
    "violence/graphic": ("blood", "gore"),
}
"""Whole words that score from 0.20 to 0.45: not flagged, but above a strict account's threshold."""
