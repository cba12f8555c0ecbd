"""DOCX by mammoth, which makes HTML of it, without headers, footers and the deleted text of changes."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from typing import Final
from xml.etree import ElementTree as ET

from worker.documents import html
from worker.documents.cleaning import clean_text, single_line
from worker.documents.model import Note, NoteCode, ParsedDocument
from worker.documents.titles import own_title
from worker.documents.zipped import DAMAGED, check_unpacked_size
from worker.errors import DocumentRejected

WORDS: Final = (
    "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}",
    "{http://purl.oclc.org/ooxml/wordprocessingml/main}",
)
TITLE: Final = "{http://purl.org/dc/elements/1.1/}title"
PARTS: Final = re.compile(r"word/(?:document|footnotes|endnotes)\d*\.xml")
STYLE_SHEET: Final = "word/styles.xml"
TINY: Final = frozenset(["1", "2", "3", "4"])
"""Half points: letters of two points and less."""
EXAMPLES: Final = 5
EXAMPLE_CHARS: Final = 120
OFF: Final = frozenset(["0", "false", "off"])
STYLES: Final = """
strike => s
p[style-name='Title'] => h1:fresh
p[style-name='Subtitle'] => h2:fresh
"""


def parse_docx(data: bytes) -> ParsedDocument:
    """The text of a DOCX file as it looks when all changes are accepted.

    Raises:
        DocumentRejected: no DOCX file, or locked by a password.
    """
    import mammoth  # noqa: PLC0415  # only a reading process needs it

    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise DocumentRejected("is an old .doc file, or locked by a password: save it as .docx without one")
    try:
        check_unpacked_size(data)
        visible, title, hidden = _without_hidden(data)
        # pictures are no text: without their bytes
        found = mammoth.convert_to_html(
            io.BytesIO(visible),
            style_map=STYLES,
            convert_image=mammoth.images.img_element(lambda _: {"src": ""}),
            include_embedded_style_map=False,
        )
    except DAMAGED as error:
        raise DocumentRejected("is damaged or no DOCX file") from error
    parsed = html.parse_html(found.value)
    first = next((block.text for block in parsed.blocks if block.level == 1), "")
    notes = parsed.notes
    if hidden:
        examples = tuple(single_line(clean_text(text))[:EXAMPLE_CHARS] for text in hidden[:EXAMPLES])
        notes += (Note(code=NoteCode.HIDDEN, count=len(hidden), examples=examples),)
    return ParsedDocument(title=own_title(title) or first, blocks=parsed.blocks, notes=notes)


def _without_hidden(data: bytes) -> tuple[bytes, str, list[str]]:
    """The file without hidden runs, doubly struck ones as struck; its own title; and the hidden texts."""
    copy = io.BytesIO()
    title, hidden = "", list[str]()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(copy, "w") as target:
        styles = _hidden_styles(source.read(STYLE_SHEET)) if STYLE_SHEET in source.namelist() else frozenset()
        for each in source.infolist():
            part = source.read(each)
            if PARTS.fullmatch(each.filename):
                part = _visible(part, styles, hidden)
            elif each.filename == "docProps/core.xml":
                title = ET.fromstring(part).findtext(TITLE) or ""  # noqa: S314  # expat limits entities
            target.writestr(each.filename, part)
    return copy.getvalue(), title, hidden


def _hidden_styles(part: bytes) -> frozenset[str]:
    """The ids of styles whose text is hidden."""
    root = ET.fromstring(part)  # noqa: S314  # expat limits entities
    return frozenset(
        style.get(f"{names}styleId", "")
        for names in WORDS
        for style in root.iter(f"{names}style")
        if (properties := style.find(f"{names}rPr")) is not None and _is_on(properties, names, "vanish")
    )


def _visible(part: bytes, styles: frozenset[str], hidden: list[str]) -> bytes:
    """A part without what its reader does not see, which is added to ``hidden``."""
    root = ET.fromstring(part)  # noqa: S314  # expat limits entities
    for names in WORDS:
        on_colour = {run for shaded in _shaded(root, names) for run in shaded.iter(f"{names}r")}
        for parent in list(root.iter()):
            for each in list(parent):
                if _is_unseen(each, names, styles, is_on_colour=each in on_colour):
                    parent.remove(each)
                    text = "".join(part.text or "" for part in each.iter(f"{names}t"))
                    hidden.extend([text.strip()] if text.strip() else [])
                elif each.tag == f"{names}r" and (properties := each.find(f"{names}rPr")) is not None:
                    _name_plainly(properties, names)
    return ET.tostring(root)


def _is_unseen(each: ET.Element, names: str, styles: frozenset[str], *, is_on_colour: bool) -> bool:
    """Whether a run, a row of a table or an empty control is hidden."""
    match each.tag.removeprefix(names):
        case "tr":
            row = each.find(f"{names}trPr")
            return row is not None and _is_on(row, names, "hidden")
        case "sdt":
            return each.find(f"{names}sdtPr/{names}showingPlcHdr") is not None
        case "r":
            properties = each.find(f"{names}rPr")
            if properties is None:
                return False
            is_white = _value(properties, names, "color").upper() == "FFFFFF" and not is_on_colour
            is_tiny = _value(properties, names, "sz") in TINY
            if properties.find(f"{names}vanish") is not None:
                return _is_on(properties, names, "vanish")
            return is_white or is_tiny or _value(properties, names, "rStyle") in styles
    return False


def _name_plainly(properties: ET.Element, names: str) -> None:
    """Say in the way that mammoth reads that a run is struck or raised."""
    if _is_on(properties, names, "dstrike"):
        ET.SubElement(properties, f"{names}strike")
    position = _value(properties, names, "position")
    if position.isdecimal() and int(position) and properties.find(f"{names}vertAlign") is None:
        ET.SubElement(properties, f"{names}vertAlign", {f"{names}val": "superscript"})


def _shaded(root: ET.Element, names: str) -> Iterator[ET.Element]:
    """Cells, paragraphs and runs with a colour behind their letters.

    With tables whose style may have one, and text boxes, whose shape may.
    """
    for tag, inner in (("tc", "tcPr"), ("p", "pPr"), ("r", "rPr")):
        for each in root.iter(f"{names}{tag}"):
            shading = each.find(f"{names}{inner}/{names}shd")
            if shading is not None and shading.get(f"{names}fill", "auto").upper() not in ("AUTO", "FFFFFF"):
                yield each
    for each in root.iter(f"{names}tbl"):
        if each.find(f"{names}tblPr/{names}tblStyle") is not None:
            yield each
    for each in root.iter(f"{names}r"):
        properties = each.find(f"{names}rPr")
        if properties is not None and _value(properties, names, "highlight") not in ("", "none", "white"):
            yield each
    yield from root.iter(f"{names}txbxContent")


def _value(properties: ET.Element, names: str, name: str) -> str:
    found = properties.find(f"{names}{name}")
    return "" if found is None else found.get(f"{names}val", "")


def _is_on(properties: ET.Element, names: str, name: str) -> bool:
    found = properties.find(f"{names}{name}")
    return found is not None and found.get(f"{names}val", "1").lower() not in OFF
