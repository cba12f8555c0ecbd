"""The messages and documents that every peer gets: questions of the demo that its documents answer.

Hushgate refuses a question without evidence before it asks the model, which would make it look cheaper; so
each question here has an answer, and a run fails unless every message is replied to.
"""

from __future__ import annotations

import json
from pathlib import Path

DEMO = Path(__file__).parent.parent.parent / "cli/demo/data"
ACCOUNT = "corner-shop"
INSTRUCTIONS = "You answer customers of a shop in one or two sentences, politely and without inventing facts."
KEYWORDS = ("spam", "free money", "click here", "casino", "lottery")
ANSWERED = (
    "Can I change my delivery address?",
    "And on Saturday?",
    "Do you ship to Norway?",
    "How long does delivery to Norway take?",
    "Is the oak table in stock?",
    "What does the oak table cost?",
    "How do I clean the oak table?",
    "Which lamps are dimmable?",
    "What is the credit limit for invoices?",
    "My lamp arrived broken, what now?",
    "Do I need the original box?",
    "Do you deliver on Sundays?",
    "And on public holidays?",
    "Can I pick up my order in the shop?",
    "Do they come with bulbs?",
    "Do you have gift cards?",
    "How long is a gift card valid?",
    "Can I use bleach on it?",
    "Is there a warranty on lamps?",
    "Does the warranty cover a broken shade?",
    "Where is your shop?",
)


def messages(count: int) -> list[str]:
    """The questions in turn, again and again."""
    return [ANSWERED[number % len(ANSWERED)] for number in range(count)]


def documents() -> dict[str, list[str]]:
    """Title -> paragraphs of the account's documents."""
    found = json.loads((DEMO / "setup.json").read_text())["documents"]
    return {each["title"]: each["paragraphs"] for each in found if each["account"] == ACCOUNT}
