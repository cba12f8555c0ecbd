"""Documents that accounts upload, of every format."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from fuzz.target import Target, require, require_storable
from worker.documents import readers, reading
from worker.documents.chunking import document_chunks
from worker.documents.model import DocumentFormat, ParsedDocument
from worker.documents.words import search_words
from worker.errors import DocumentRejected

SAMPLES: Final = Path(__file__).parents[2] / "tests" / "fixtures" / "documents"
NAMES: Final = ("", "a.md", "a.html", "a.txt", "a.pdf", "a.csv", "a.docx", "a.xlsx", "a.mht", "a.doc", ".")


def check_text(data: bytes) -> None:
    """A file of any name is a document, refused, or of no known format."""
    name = NAMES[(data[0] if data else 0) % len(NAMES)]
    kind = reading.document_format(name, data[1:])
    if kind is None or kind is DocumentFormat.PDF:
        return
    _check(data[1:], kind)
    _check(data[1:], DocumentFormat.TEXT)


def check_markdown(data: bytes) -> None:
    """Markdown is a document or refused."""
    _check(data, DocumentFormat.MARKDOWN)


def check_html(data: bytes) -> None:
    """HTML is a document or refused."""
    _check(data, DocumentFormat.HTML)


def check_pdf(data: bytes) -> None:
    """A PDF is a document or refused."""
    _check(data, DocumentFormat.PDF)


def _check(data: bytes, kind: DocumentFormat) -> None:
    try:
        parsed = readers.parse_document(data, kind)
    except DocumentRejected as error:
        require_storable(str(error))
        return
    _check_chunks(parsed)


def _check_chunks(parsed: ParsedDocument) -> None:
    """Chunks are parts of the text in order, and hold every character that is no white space."""
    text, covered = parsed.text, 0
    require_storable([parsed.title, text])
    for chunk in document_chunks(parsed, title=parsed.title):
        require(
            chunk.text.endswith(text[chunk.start : chunk.end]) and chunk.text, "no part of the text", chunk
        )
        require(not text[covered : chunk.start].strip(), "left out", text[covered : chunk.start])
        covered = max(covered, chunk.end)
        search_words(chunk.whole)
    require(not text[covered:].strip(), "left out", text[covered:])


HTML_WORDS: Final = (
    "<html>", "<head>", "<title>", "</title>", "<body>", "<main>", "<p>", "</p>", "<h1>", "<h6>", "</h1>",
    "<ul>",
    "<li>", "<table>", "<tr>", "<td>", "</td>", "<pre>", "</pre>", "<script>", "</script>", "<svg>", "<math>",
    "<template>", "<select>", "<plaintext>", "<!--", "-->", "<![CDATA[", "<!doctype html>", "&nbsp;", "&#0;",
    "&#xd800;", ' hidden=""', '<meta charset="utf-16">', 'charset=idna', "charset=punycode", "charset=zip",
    "charset=utf-7", "charset=unicode_escape", "<br>", '<img alt="a">', " role=main", "<noscript>",
    "<frameset>",
)  # fmt: skip
MARKDOWN_WORDS: Final = (
    "---\n", "title: ", "# ", "###### ", "===\n", "- ", "1. ", "> ", "```\n", "~~~", "    ", "\t",
    "| a | b |\n",
    "|---|---|\n", "[a](b)", "[a]: b\n", "![a][a]", "**", "_", "`", "<p>", "</p>", "<!--", "\\", "&amp;",
    "\n\n",
    "\r", "\u2028", "<http://a>", "\x00", "\u0301", "赌博", "। ",
)  # fmt: skip
PDF_WORDS: Final = (
    "%PDF-1.7\n", "obj", "endobj", "stream\n", "endstream", "xref\n", "trailer", "startxref", "%%EOF",
    "<<", ">>",
    "/Type", "/Catalog", "/Pages", "/Page", "/Kids", "/Count", "/Length", "/Filter", "/FlateDecode", "/Font",
    "/Contents", "/MediaBox", "/Encrypt", "/ObjStm", "/XRef", "/Title", "BT", "ET", "Tj", "Td", "0 R",
    "1 0 R",
)  # fmt: skip
TARGETS: Final = (
    Target(
        name="text",
        about="A file of any name and encoding is a document, refused, or of no known format.",
        check=check_text,
        words=(
            "\ufeff",
            "\x00",
            "<html",
            "<!doctype html",
            "%PDF-",
            "\r\n",
            "\n\n",
            ". ",
            "! ",
            "\u3002",
            *"á\u0301",
        ),
        seeds=(b"\3One. Two.\n\nThree", b"\0\xff\xfea\0b\0", b"\1# Title\n\nText", b"\2<p>Text"),
    ),
    Target(
        name="markdown",
        about="Markdown is a document whose chunks hold all of its text, or refused.",
        check=check_markdown,
        words=MARKDOWN_WORDS,
        seeds=(
            b"---\ntitle: Hours\n---\n# Opening\n\n- Monday\n- Tuesday\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
            b"Text with [a link](https://a) and `code`.\n\n```\ncode\n```\n> quote\n<p>html</p>\n",
        ),
    ),
    Target(
        name="html",
        about="HTML is a document whose chunks hold all of its text, or refused.",
        check=check_html,
        words=HTML_WORDS,
        seeds=(
            b"<!doctype html><title>Hours</title><main><h1>Opening</h1><p>From nine.<ul><li>Monday</ul>",
            b'<meta charset="windows-1252"><table><tr><td>a<td>b</table><pre>\n code\n</pre>\xe9',
        ),
    ),
    Target(
        name="pdf",
        about="A PDF is a document whose chunks hold all of its text, or refused.",
        check=check_pdf,
        words=PDF_WORDS,
        seeds=tuple((SAMPLES / name).read_bytes() for name in ("handbook.pdf", "locked.pdf", "scan.pdf")),
        most_bytes=8192,
        most_s=5.0,
    ),
)
