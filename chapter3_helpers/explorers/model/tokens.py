"""Tokens as a reader knows them: with spaces, line ends and letters where a vocabulary has marks.

A vocabulary of bytes, such as GPT-2's, writes ``Ġold`` for `` old``; SentencePiece writes ``▁old``,
and ``<0x0A>`` for a byte that has no token of its own.
"""

import re
from collections.abc import Sequence

from chapter3_helpers._figures.writing import visible
from chapter3_helpers._language import say

SPACE, WORD_END = "▁", "</w>"
BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
SIGNS = {ord("\n"): "↵", ord("\r"): "↵", ord("\t"): "⇥"}

# In a vocabulary of bytes a byte that can be printed stands for itself, and the others for the
# characters from U+0100 on: 32, the space, for Ġ, and 10, the end of a line, for Ċ.
_PRINTED = (*range(33, 127), *range(161, 173), *range(174, 256))
_OTHERS = [byte for byte in range(256) if byte not in _PRINTED]
BYTES = {chr(byte): byte for byte in _PRINTED}
BYTES |= {chr(0x100 + place): byte for place, byte in enumerate(_OTHERS)}


def readable(tokens: Sequence[str]) -> tuple[str, ...]:
    """Return tokens so that they can be read and seen, each on one line.

    A character of which a token holds a part stays bytes.

    >>> readable(["The", "Ġold", "ĊĊ", "æĪĳ", "æĪ"])
    ('The', ' old', '↵↵', '我', '\\\\xe6\\\\x88')
    >>> readable(["▁The", "▁", "<0x0A>", "", "é"])
    (' The', '␣', '↵', '(empty)', 'é')
    """
    of_bytes = any(map(_is_of_bytes, tokens))
    return tuple(_seen(_decoded(token) if of_bytes else _spelled(token)) for token in tokens)


def _is_of_bytes(token: str) -> bool:
    """Return whether a token is one of a vocabulary of bytes: it begins with a mark, or several of
    its characters are one character in UTF-8."""
    text = _decoded(token)
    return token.startswith(("Ġ", "Ċ")) or ("\\x" not in text and len(text) < len(token))


def _decoded(token: str) -> str:
    """Return what the bytes of a token say; what is no such token stays as it is."""
    if not all(character in BYTES for character in token):
        return token
    return bytes(BYTES[character] for character in token).decode("utf-8", "backslashreplace")


def _spelled(token: str) -> str:
    """Return a token of SentencePiece, or of a vocabulary with ends of words, as it is spelled."""
    if byte := BYTE.fullmatch(token):
        return bytes([int(byte[1], 16)]).decode("utf-8", "backslashreplace")
    return token.replace(SPACE, " ").replace(WORD_END, " ")


def _seen(text: str) -> str:
    seen = visible(text.translate(SIGNS))
    return (seen if seen.strip(" ") else seen.replace(" ", "␣")) or say("(empty)")
