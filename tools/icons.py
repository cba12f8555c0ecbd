"""Writes the sprite of icons from an unpacked package lucide-static (``npm pack lucide-static``).

``python -m tools.icons PACKAGE_FOLDER``; a new icon of the pages is a new name in ``NAMES``.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Final

VENDOR: Final = Path(__file__).parents[1] / "review" / "static" / "vendor"
NAMES: Final = """
    arrow-down arrow-left arrow-right arrow-up arrow-up-down ban bell book-open calendar chart-column
    check check-check chevron-down chevron-left chevron-right chevron-up circle-alert circle-check
    circle-help circle-x clock coins columns-3 contrast copy download ellipsis external-link eye eye-off
    file-text flag flask-conical funnel gauge globe hand history house inbox info key-round keyboard
    languages link list list-checks lock log-out message-square messages-square minus monitor moon
    panel-left panel-right pause pencil play plug plus refresh-cw reply rotate-ccw save scale
    scroll-text search send settings shield shield-alert sliders-horizontal sparkles star store sun tag
    thumbs-down thumbs-up trash-2 triangle-alert undo-2 upload user user-plus users webhook x zap
"""
SHAPE: Final = re.compile(r"<svg[^>]*>(.*)</svg>", re.DOTALL)


def main() -> None:
    """Write the sprite and the licence."""
    package = Path(sys.argv[1])
    version = json.loads((package / "package.json").read_text(encoding="utf-8"))["version"]
    symbols = "\n".join(_symbol(name, package / "icons" / f"{name}.svg") for name in NAMES.split())
    sprite = f'<svg xmlns="http://www.w3.org/2000/svg">\n{symbols}\n</svg>\n'
    (VENDOR / f"lucide-{version}.svg").write_text(sprite, encoding="utf-8")
    licence = (package / "LICENSE").read_text(encoding="utf-8")
    (VENDOR / "lucide-LICENSE.txt").write_text(licence, encoding="utf-8")


def _symbol(name: str, path: Path) -> str:
    found = SHAPE.search(path.read_text(encoding="utf-8"))
    if found is None:
        raise SystemExit(f"{path}: expected one <svg> element")
    shape = re.sub(r"\s*\n\s*", "", found[1]).replace(" />", "/>")
    return f'<symbol id="{name}" viewBox="0 0 24 24">{shape}</symbol>'


if __name__ == "__main__":
    main()
