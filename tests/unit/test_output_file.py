"""Files that commands write."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.output_file import output_file, private_file


def test_a_file_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    """An export holds what people wrote."""
    with output_file(tmp_path / "export.csv", force=False) as file:
        file.write("text")

    assert (tmp_path / "export.csv").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "export.csv").read_text() == "text"


def test_a_planted_link_is_not_followed(tmp_path: Path) -> None:
    """Whoever may write to the folder cannot make a command overwrite another file."""
    victim = tmp_path / "victim"
    victim.write_text("unchanged")
    (tmp_path / ".export.csv.part").symlink_to(victim)
    with output_file(tmp_path / "export.csv", force=False) as file:
        file.write("text")

    assert victim.read_text() == "unchanged"
    assert not (tmp_path / "export.csv").is_symlink()
    with pytest.raises(FileExistsError):
        private_file(tmp_path / ".export.csv.part")
