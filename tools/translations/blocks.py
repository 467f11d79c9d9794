"""The blocks of a Markdown page that are translated: paragraphs, headings, tables, summaries."""

import re
from collections.abc import Callable, Iterator

from markdown_it import MarkdownIt

MARKDOWN = MarkdownIt("commonmark").enable("table")
CODE_OR_FORMULA = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)|\$\$.+?\$\$|\$[^$]+\$", re.DOTALL)
TAGGED = re.compile(r"<(summary|p)>(?P<text>.+?)</\1>")
ENTRIES = re.compile(r"^(?::caption: )?(?P<text>[^:<\n]+?)(?: <.+>)?$", re.MULTILINE)

Span = tuple[int, int, str]  # where a block begins and ends, and its text on one line


def spans(source: str) -> Iterator[Span]:
    """Yield every block of a page; code and what is only a formula are not translated."""
    starts = [0, *(match.end() for match in re.finditer("\n", source)), len(source)]
    before = None
    for token in MARKDOWN.parse(source):
        if token.map:
            first, last = starts[token.map[0]], starts[min(token.map[1], len(starts) - 1)]
            whole = source[first:last].rstrip()
        if token.type == "inline" and before in ("heading_open", "paragraph_open"):
            lines = token.content.split("\n")
            begin = source.index(lines[0], first)
            end = begin + len(lines[0])
            if len(lines) > 1:  # its last line ends where the block does
                end = first + len(whole)
            text = re.sub(r"(?<!\\)\n", " ", token.content)
            if re.search(r"[^\W\d_]", CODE_OR_FORMULA.sub("", text)):
                yield begin, end, text
        elif token.type == "table_open":
            yield first, first + len(whole), whole
        elif token.type == "html_block":
            yield from within(TAGGED.finditer(whole), first)
        elif token.type == "fence" and token.info.startswith("{toctree}"):
            yield from within(ENTRIES.finditer(token.content), source.index(token.content, first))
        elif token.type == "fence" and token.info.startswith("{container}"):
            begin = source.index(token.content, first)
            for start, end, text in spans(token.content):
                yield begin + start, begin + end, text
        before = token.type


def within(found: Iterator[re.Match], offset: int) -> Iterator[Span]:
    for match in found:
        yield offset + match.start("text"), offset + match.end("text"), match["text"]


def blocks(source: str) -> list[str]:
    return [text for _, _, text in spans(source)]


def replace(source: str, say: Callable[[str], str]) -> str:
    """Put what is said for each block in its place; a block for which its own text is said stays
    as it is, with its line breaks."""
    parts, done = [], 0
    for begin, end, text in spans(source):
        translation = say(text)
        parts += [source[done:begin], source[begin:end] if translation == text else translation]
        done = end
    return "".join([*parts, source[done:]])
