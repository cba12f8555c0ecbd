"""Documents refer only to files, headings, names and decision records that exist."""

from __future__ import annotations

import importlib
import re
import unicodedata
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
RECORDS: Final = tuple(sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md")))
INDEX: Final = ROOT / "docs" / "decisions" / "README.md"
SECTIONS: Final = ["Question", "Answer", "Why", "Cost", "When to reconsider"]
LONGEST: Final = 32
"""Lines of a record, of at most 112 characters outside tables."""

SKIPPED: Final = {".git", ".venv", "out", "vendor", "node_modules"}
SUFFIXES: Final = {".md", ".py", ".lua", ".toml", ".yml", ".html", ".js", ".css"}
LINK: Final = re.compile(r"\]\(([^)\s]+)\)")
CODE: Final = re.compile(r"```.*?```", re.DOTALL)
FOLDERS: Final = r"(?:worker|tasks|db|review|cli|sandbox|deploy|docs|tests|bench|tools|examples)"
PATH: Final = re.compile(rf"`({FOLDERS}/[\w./-]+)`")
TEST: Final = re.compile(r"`(test_\w+\.py)::(test_\w+)`")
NAME: Final = re.compile(rf"`({FOLDERS}(?:\.\w+)*):(\w+(?:\.\w+)*)`")


def sources() -> Iterator[Path]:
    """Every text file of the project."""
    for top in ROOT.iterdir():
        if top.name in SKIPPED:
            continue
        for path in [top] if top.is_file() else top.rglob("*"):
            if path.suffix in SUFFIXES and SKIPPED.isdisjoint(path.relative_to(ROOT).parts):
                yield path


DOCUMENTS: Final = tuple(sorted(path for path in sources() if path.suffix == ".md"))


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def anchors(document: Path) -> set[str]:
    """The anchors that a Markdown viewer gives to the headings of a document."""
    text = CODE.sub("", document.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {anchor(title) for title in titles}


def anchor(title: str) -> str:
    """A heading as an anchor: lower case, spaces as hyphens, letters and digits only."""
    kept = (char for char in title.lower() if char in " -_" or unicodedata.category(char)[0] in "LN")
    return "".join(kept).replace(" ", "-")


def test_the_number_of_a_record_is_its_own() -> None:
    """From 0001 on, without a repetition; that of a deleted record is not given again."""
    numbers = [int(path.name[:4]) for path in RECORDS]

    assert numbers == sorted(set(numbers))
    assert numbers[0] == 1


@pytest.mark.parametrize("record", RECORDS, ids=lambda path: path.stem)
def test_a_record_follows_the_template(record: Path) -> None:
    """Its number and topic, then the five sections in order, on one screen."""
    lines = record.read_text(encoding="utf-8").splitlines()
    sections = [match[1] for line in lines if (match := re.match(r"\*\*([^*.?]+)\.\*\*", line))]

    assert re.fullmatch(rf"# {record.name[:4]} \S.+", lines[0])
    assert [section for section in sections if section in SECTIONS] == SECTIONS
    assert len(lines) <= LONGEST
    assert [line for line in lines if len(line) > 112 and not line.startswith("|")] == []


def test_the_index_lists_every_record() -> None:
    """One row each, in order, with number and topic as in the record."""
    rows = re.findall(r"^\| \[(\d{4})\]\(([^)]+)\) \| ([^|]+) \|", INDEX.read_text(), re.MULTILINE)
    topics = [path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")[5:] for path in RECORDS]

    assert [(number, file, topic) for number, file, topic in rows] == [
        (path.name[:4], path.name, topic) for path, topic in zip(RECORDS, topics, strict=True)
    ]


def test_every_decision_record_that_is_named_exists() -> None:
    """In documents, docstrings and comments, by file name or by number."""
    stems = {path.stem for path in RECORDS}
    numbers = {stem[:4] for stem in stems}
    wrong = []
    for path in sources():
        text = path.read_text(encoding="utf-8")
        named = re.findall(r"(?:docs/|\()decisions/(\d{4}[\w-]*)", text)
        wrong += [f"{name_of(path)}: {each}" for each in named if each not in stems | numbers]
        linked = re.findall(r"\[(?:decision )?(\d{4})\]\([^)]*?(\d{4})-[^)]*\)", text)
        wrong += [f"{name_of(path)}: {shown}" for shown, target in linked if shown != target]
        said = re.findall(r"\bdecision (\d{4})\b", text)
        wrong += [f"{name_of(path)}: {each}" for each in said if each not in numbers]

    assert wrong == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_links_of_a_document_lead_somewhere(document: Path) -> None:
    """To a file or folder of the project, and to a heading where the link names one."""
    wrong = []
    for link in LINK.findall(CODE.sub("", document.read_text(encoding="utf-8"))):
        if "://" in link or link.startswith("mailto:"):
            continue
        file, _, heading = link.partition("#")
        target = (document.parent / file).resolve() if file else document
        if not target.exists() or (heading and heading not in anchors(target)):
            wrong.append(link)

    assert wrong == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_files_and_names_that_a_document_mentions_exist(document: Path) -> None:
    """Paths in backticks, and names written as `module:name`."""
    text = document.read_text(encoding="utf-8")
    missing = [path for path in PATH.findall(text) if not (ROOT / path).exists()]
    missing += [f"{module}:{name}" for module, name in NAME.findall(text) if not has(module, name)]

    assert missing == []


def test_tests_that_a_document_names_exist() -> None:
    """Written as `test_file.py::test_function`; one file of the name below tests/ has the function."""
    missing = []
    for document in DOCUMENTS:
        named = TEST.findall(document.read_text(encoding="utf-8"))
        missing += [f"{name_of(document)}: {file}::{test}" for file, test in named if not is_test(file, test)]

    assert missing == []


def is_test(file: str, function: str) -> bool:
    """Whether exactly one file of this name below tests/ has the test function."""
    texts = (path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob(file))
    defined = re.compile(rf"^(?:async )?def {function}\(", re.MULTILINE)
    return sum(defined.search(text) is not None for text in texts) == 1


def has(module: str, name: str) -> bool:
    """Whether a module of ours defines a name, such as ``RetryPolicy.attempts``."""
    try:
        found = importlib.import_module(module)
        attrgetter(name)(found)
    except (ModuleNotFoundError, AttributeError):
        return False
    return True
