"""DOCX by mammoth, which makes HTML of it, without headers, footers and the deleted text of changes."""

from __future__ import annotations

import io
import re
import zipfile
from typing import Final
from xml.etree import ElementTree as ET

from worker.documents import html
from worker.documents.model import ParsedDocument
from worker.documents.titles import own_title
from worker.documents.zipped import DAMAGED, check_unpacked_size
from worker.errors import DocumentRejected

WORDS: Final = (
    "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}",
    "{http://purl.oclc.org/ooxml/wordprocessingml/main}",
)
TITLE: Final = "{http://purl.org/dc/elements/1.1/}title"
PARTS: Final = re.compile(r"word/(?:document|footnotes|endnotes)\d*\.xml")
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
        visible, title = _without_hidden(data)
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
    return ParsedDocument(title=own_title(title) or first, blocks=parsed.blocks, notes=parsed.notes)


def _without_hidden(data: bytes) -> tuple[bytes, str]:
    """The file without hidden runs, doubly struck ones as struck; and its own title."""
    copy = io.BytesIO()
    title = ""
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(copy, "w") as target:
        for each in source.infolist():
            part = source.read(each)
            if PARTS.fullmatch(each.filename):
                part = _visible(part)
            elif each.filename == "docProps/core.xml":
                title = ET.fromstring(part).findtext(TITLE) or ""  # noqa: S314  # expat limits entities
            target.writestr(each.filename, part)
    return copy.getvalue(), title


def _visible(part: bytes) -> bytes:
    root = ET.fromstring(part)  # noqa: S314  # expat limits entities
    for names in WORDS:
        for parent in root.iter():
            for run in parent.findall(f"{names}r"):
                properties = run.find(f"{names}rPr")
                if properties is None:
                    continue
                if _is_on(properties, names, "vanish"):
                    parent.remove(run)
                elif _is_on(properties, names, "dstrike"):
                    ET.SubElement(properties, f"{names}strike")
    return ET.tostring(root)


def _is_on(properties: ET.Element, names: str, name: str) -> bool:
    found = properties.find(f"{names}{name}")
    return found is not None and found.get(f"{names}val", "1").lower() not in OFF
