"""CONTRIBUTING.md and the other documents name recipes, files and make targets that exist."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
GUIDE: Final = ROOT / "CONTRIBUTING.md"
DOCUMENTS: Final = (
    GUIDE,
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "deploy").glob("*.md")),
)
RECIPES: Final = re.findall(r"^### (.+)$", GUIDE.read_text(), re.MULTILINE)
TARGETS: Final = frozenset(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
BLOCK: Final = re.compile(r"```[a-z]*\n(.*?)```", re.DOTALL)
QUOTED: Final = re.compile(r"`([^`\n]+)`")
FAILING_CHECK: Final = """
.venv/.ready-statistics:
	@true
test-tools:
	@sh -c 'echo $$$$ > tools.new && mv tools.new tools && exec sleep 30'
check:
	@until [ -e tools ]; do sleep 0.05; done; exit 1
"""
FILE: Final = re.compile(r"[\w./-]*(?:/|\.(?:md|toml|py|yml|html|example|sh|json|txt|lua))")


def recipe(title: str) -> str:
    """The steps of a recipe."""
    return GUIDE.read_text().partition(f"\n### {title}\n")[2].partition("\n### ")[0]


@pytest.mark.parametrize("title", RECIPES)
def test_every_step_of_a_recipe_names_a_file_or_a_command(title: str) -> None:
    """Each file exists; steps are numbered."""
    steps = re.findall(r"^\d\. (.+)$", recipe(title), re.MULTILINE)
    named = [[text for text in QUOTED.findall(step) if FILE.fullmatch(text)] for step in steps]

    assert len(steps) >= 3
    assert [step for step, files in zip(steps, named, strict=True) if not files and "make" not in step] == []
    assert [file for files in named for file in files if not (ROOT / file).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_make_target_in_a_document_exists(document: Path) -> None:
    """In code only."""
    text = document.read_text()
    code = "\n".join([*BLOCK.findall(text), *QUOTED.findall(BLOCK.sub("", text))])
    called = re.findall(r"(?:^|[\s&;|])make ([a-z][a-z-]*)", code)

    assert [target for target in called if target not in TARGETS] == []


@pytest.mark.parametrize(
    "target", sorted(TARGETS - {"chart-tools", "chromium", "prometheus", "systemd-analyze"})
)
def test_make_help_explains_every_target(target: str) -> None:
    """With a sentence after two number signs."""
    assert re.search(rf"^{target}:.* ## \w", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_ci_ends_the_set_up_of_tools_when_a_check_fails(tmp_path: Path) -> None:
    """Its output ends, so no process that writes there is left."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci")
    (tmp_path / "Makefile").write_text(FAILING_CHECK)
    done = subprocess.run([tmp_path / ".ci" / "run"], capture_output=True, text=True, timeout=20, check=False)

    assert (done.returncode, "check] Error 1" in done.stderr) == (2, True)
