"""Documents refer only to what exists, are short and in plain words; generated tables are fresh."""

from __future__ import annotations

import ast
import importlib
import io
import re
import subprocess
import tokenize
import unicodedata
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from typing import Final

import pytest

from features.feature import FEATURES
from tools.tables import stale

ROOT: Final = Path(__file__).parents[2]
RECORDS: Final = tuple(sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md")))
SECTIONS: Final = ["Question", "Answer", "Rejected", "Cost", "Reconsider"]
LONGEST: Final = 25
"""Lines of a decision record, of at most 112 characters."""
MOST_WORDS: Final = 50_000
"""Words of all documents; test data in Markdown is left out."""

SKIPPED: Final = {".git", ".venv", ".pytest_cache", "out", "vendor", "node_modules"}
DATA: Final = (ROOT / "bench" / "conversations" / "docs", ROOT / "tests" / "fixtures")
SUFFIXES: Final = {".md", ".py", ".lua", ".toml", ".yml", ".html", ".js", ".css"}
LINK: Final = re.compile(r"\]\(([^)\s]+)\)")
CODE: Final = re.compile(r"```.*?```", re.DOTALL)
FOLDERS: Final = (
    r"(?:features|trials|compliance|worker|tasks|db|review|cli"
    r"|sandbox|deploy|docs|tests|bench|tools|examples)"
)
PATH: Final = re.compile(rf"`({FOLDERS}/[\w./-]+)`")
TEST: Final = re.compile(r"`(test_\w+\.py)::(test_\w+)`")
MODULE: Final = re.compile(r"\bpython -m ((?:bench|chaos|fuzz|tests|tools)[\w.]*)")
NAME: Final = re.compile(rf"`({FOLDERS}(?:\.\w+)*):(\w+(?:\.\w+)*)`")

PRODUCT: Final = ("features", *FEATURES, "worker", "tasks", "db", "review", "gateway", "cli", "sandbox")
SUBJECTS_SINCE: Final = "2026-11-26 17:55"
LONGEST_SUBJECT: Final = 72
WORDS: Final = {
    r"somebody|anybody|everybody": "a person, people",
    r"nobody": "no person, no one",
    r"whoever": "the person who",
    r"nought": "zero, 0",
    r"mend(s|ed|ing)?": "repair",
    r"(is|are|was|were) told": "learns, receives",
    r"cast out|strays": "remove, leave",
    r"stor(y|ies)": "the field's term",
    r"(is|falls) ill": "fails",
    r"by turns": "alternating",
    r"(is|are) led by": "follows",
    r"(has|have) to do with": "concerns",
    r"by itself|by themselves": "automatically",
}
"""Words outside the vocabulary -> what to write instead."""
UNWANTED: Final = re.compile(rf"\b(?:{'|'.join(WORDS)})\b", re.IGNORECASE)


def sources() -> Iterator[Path]:
    """Every text file of the project."""
    for top in ROOT.iterdir():
        if top.name in SKIPPED:
            continue
        for path in [top] if top.is_file() else top.rglob("*"):
            if path.suffix in SUFFIXES and SKIPPED.isdisjoint(path.relative_to(ROOT).parts):
                yield path


DOCUMENTS: Final = tuple(
    sorted(
        path
        for path in sources()
        if path.suffix == ".md" and not any(path.is_relative_to(folder) for folder in DATA)
    )
)


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


@pytest.mark.parametrize("record", RECORDS, ids=lambda path: path.stem)
def test_a_record_follows_the_template(record: Path) -> None:
    """Its number and topic, then the five sections in order, one of them the rejected alternatives."""
    lines = record.read_text(encoding="utf-8").splitlines()
    sections = [match[1] for line in lines if (match := re.match(r"\*\*([^*.?]+)\.\*\* \S", line))]

    assert re.fullmatch(rf"# {record.name[:4]} \S.+", lines[0])
    assert sections == SECTIONS
    assert len(lines) <= LONGEST
    assert [line for line in lines if len(line) > 112] == []


def test_every_record_has_its_own_number() -> None:
    """From 0001 on; the number of a deleted record stays unused."""
    numbers = [int(path.name[:4]) for path in RECORDS]

    assert numbers == sorted(set(numbers))
    assert numbers[0] == 1


def test_tables_made_from_the_code_are_fresh() -> None:
    """`make schema` writes them."""
    assert [name_of(path) for path in stale()] == []


def test_documents_stay_short() -> None:
    """Together, and the first page: two screens beside its table of figures."""
    words = {path: len(path.read_text(encoding="utf-8").split()) for path in DOCUMENTS}

    assert sum(words.values()) <= MOST_WORDS
    assert words[ROOT / "README.md"] <= 1_200


def test_every_document_can_be_found() -> None:
    """From README, directly or by a link of a document that README links to."""
    found = {ROOT / "README.md"}
    for _ in range(2):
        found |= {target for document in found for target in linked(document)}

    assert [name_of(path) for path in DOCUMENTS if is_of_readers(path) and path not in found] == []


def test_every_picture_is_used_and_small() -> None:
    """`make screenshots` makes the pictures of docs/images."""
    sizes = {path.name: path.stat().st_size for path in (ROOT / "docs" / "images").iterdir()}
    text = (ROOT / "docs" / "review.md").read_text(encoding="utf-8")

    assert set(re.findall(r"\(images/([\w-]+\.webp)\)", text)) == set(sizes)
    assert max(sizes.values()) < 90_000
    assert sum(sizes.values()) < 600_000


def is_of_readers(path: Path) -> bool:
    """Whether a document is for readers, not a note beside data."""
    return path.is_relative_to(ROOT / "docs") or path.is_relative_to(ROOT / "deploy")


def linked(document: Path) -> Iterator[Path]:
    """The documents that a document links to."""
    for link in LINK.findall(document.read_text(encoding="utf-8")):
        target = (document.parent / link.partition("#")[0]).resolve()
        if "://" not in link and target.suffix == ".md" and target.is_file():
            yield target


def test_every_decision_record_that_is_named_exists() -> None:
    """In documents, docstrings and comments, by file name or by number."""
    stems = {path.stem for path in RECORDS}
    numbers = {stem[:4] for stem in stems}
    wrong = []
    for path in sources():
        text = path.read_text(encoding="utf-8")
        named = re.findall(r"(?:docs/|\()decisions/(\d{4}[\w-]*)", text)
        wrong += [f"{name_of(path)}: {each}" for each in named if each not in stems | numbers]
        links = re.findall(r"\[(?:decision )?(\d{4})\]\([^)]*?(\d{4})-[^)]*\)", text)
        wrong += [f"{name_of(path)}: {shown}" for shown, target in links if shown != target]
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
def test_files_names_and_tests_that_a_document_mentions_exist(document: Path) -> None:
    """Paths, names as `module:name`, tests as `test_file.py::test_function`, commands `python -m module`."""
    text = document.read_text(encoding="utf-8")
    missing = [path for path in PATH.findall(text) if not (ROOT / path).exists()]
    missing += [f"{module}:{name}" for module, name in NAME.findall(text) if not has(module, name)]
    missing += [f"{file}::{test}" for file, test in TEST.findall(text) if not is_test(file, test)]
    missing += [module for module in MODULE.findall(text) if not is_module(module)]

    assert missing == []


def is_module(name: str) -> bool:
    """Whether a module or package of the project has the name."""
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or (path / "__main__.py").is_file()


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


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_a_document_is_written_in_plain_words(document: Path) -> None:
    """Outside code."""
    text = re.sub(r"`[^`\n]+`", "", CODE.sub("", document.read_text(encoding="utf-8")))

    assert [found[0] for found in UNWANTED.finditer(text)] == []


@pytest.mark.parametrize("package", PRODUCT)
def test_docstrings_comments_and_templates_are_written_in_plain_words(package: str) -> None:
    """Code and data, such as lists of words, are left out."""
    wrong = [
        f"{name_of(path)}: {found[0]}"
        for path in sorted((ROOT / package).rglob("*"))
        if path.suffix in {".py", ".html"} and "migrations" not in path.parts
        for found in UNWANTED.finditer(prose(path))
    ]

    assert wrong == []


def prose(path: Path) -> str:
    """What a file says to people: the text of a template, docstrings and comments of a module."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".html":
        return text
    comments = [
        token.string
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
    ]
    standalone = [
        node.value.value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ]
    return "\n".join([*comments, *standalone])


def test_commit_subjects_are_short_and_plain() -> None:
    """Of the commits of this checkout, where there are any."""
    command = ["git", "log", f"--since={SUBJECTS_SINCE}", "--no-merges", "--format=%s"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    subjects = done.stdout.splitlines()

    assert [each for each in subjects if len(each) > LONGEST_SUBJECT or UNWANTED.search(each)] == []
