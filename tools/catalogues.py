"""Collect the page texts, bring each language's catalogue up to date, and list what is not translated.

``python -m tools.catalogues`` writes the catalogues; ``--check`` writes nothing and fails when one is out of
date or incomplete; ``--language xx`` begins another language. ``make catalogues`` runs the first.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Final

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import write_po

from features.feature import FEATURES
from review.languages.catalogues import LANGUAGES, catalogue_path, fits, forms_of, read_catalogue
from tools import declared_texts as declared

ROOT: Final = Path(__file__).parent.parent
FOLDERS: Final = (ROOT / "review", *(ROOT / name for name in FEATURES))
METHODS: Final = [("**.py", "python"), ("**/templates/**.html", "jinja2.ext:babel_extract")]
KEYWORDS: Final = {
    "_": None,
    "gettext": None,
    "mark": None,
    "ngettext": (1, 2),
    "pgettext": ((1, "c"), 2),
}
OPTIONS: Final = {
    "**/templates/**.html": {"newstyle_gettext": "true", "trim_blocks": "true", "lstrip_blocks": "true"}
}
REFUSALS: Final = frozenset({"Refused", "UploadProblem"})
"""Errors whose literal title and text are page texts, without a mark."""


def collect() -> Catalog:
    """Every text of templates, Python modules and declarations, without translations."""
    found = Catalog()
    for folder in FOLDERS:
        _collect_folder(found, folder)
    for text, source in declared.texts():
        found.add(text, locations=[(source, 0)])
    return found


def _collect_folder(found: Catalog, folder: Path) -> None:
    for file, _, message, comments, context in extract_from_dir(
        folder, METHODS, OPTIONS, keywords=KEYWORDS, comment_tags=("Translators:",), strip_comment_tags=True
    ):
        locations = [(f"{folder.name}/{file}", 0)]
        found.add(message, locations=locations, auto_comments=comments, context=context)
    programs = {*folder.rglob("api/**/*.py"), *folder.rglob("api.py")}  # programs read English
    for path in sorted(set(folder.rglob("*.py")) - programs):
        for text in _refusal_texts(path):
            found.add(text, locations=[(str(path.relative_to(ROOT)), 0)])


def _refusal_texts(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in REFUSALS:
            for argument in node.args[1:]:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield argument.value


def updated(language: str, texts: Catalog) -> Catalog:
    """The stored catalogue with these texts: new and changed ones empty, others removed."""
    path = catalogue_path(language)
    stored = read_catalogue(language) if path.exists() else Catalog(locale=language)
    stored.update(texts, no_fuzzy_matching=True, update_header_comment=False, update_creation_date=False)
    stored.obsolete.clear()
    return stored


def as_bytes(catalogue: Catalog) -> bytes:
    """The PO file: sorted, without line numbers, so that branches rarely conflict."""
    written = BytesIO()
    write_po(written, catalogue, width=100, sort_output=True, include_lineno=False, omit_header=False)
    return written.getvalue()


def problems_of(catalogue: Catalog) -> list[str]:
    """What a translator has to do: one line a text."""
    return [f"{kind}: {_english(message)}" for message in catalogue if (kind := _problem(message))]


def _problem(message: Message) -> str:
    strings = forms_of(message.string)
    if not message.id:
        return ""
    if not all(strings):
        return "untranslated"
    if message.fuzzy:
        return "fuzzy"
    return "" if fits(message) else "other HTML or placeholders"


def _english(message: Message) -> str:
    return forms_of(message.id)[0]


def main() -> int:
    """Exit status 0 when every catalogue is complete, else 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--language", action="append", default=[])
    given = parser.parse_args()
    texts, incomplete = collect(), False
    for language in given.language or [each for each in LANGUAGES if each != "en"]:
        catalogue = updated(language, texts)
        written, path = as_bytes(catalogue), catalogue_path(language)
        problems = problems_of(catalogue)
        if given.check and (not path.exists() or path.read_bytes() != written):
            problems.append("out of date: run make catalogues")
        if not given.check:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(written)
        print(f"{language}: {len(catalogue)} texts, {len(problems)} to do", *problems, sep="\n  ")  # noqa: T201
        incomplete = incomplete or bool(problems)
    return int(incomplete)


if __name__ == "__main__":
    sys.exit(main())
