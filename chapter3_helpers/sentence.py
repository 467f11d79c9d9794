"""The running example, six tokens of three numbers each, and sentences of the reader's own.

Taught in every notebook; source: section 3.3.1.
"""

import hashlib
import unicodedata

import regex
import torch

TOKENS: tuple[str, ...] = ("Your", "journey", "starts", "with", "one", "step")

# Scripts that put no spaces between words: there every character is a token.
UNSPACED = r"\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
# A digit, or a letter of any other script, with its accents; joiners stand inside Persian words.
LETTER = rf"(?: \p{{Nd}} | [[\p{{L}}\p{{N}}_] -- [{UNSPACED}]] ) [\p{{M}}\u200c\u200d]*"
# A word, with apostrophes (don't), middle dots (col·lecció) or Hebrew marks between its letters;
# or else what a reader sees as one character (\X), which is neither white space nor invisible.
TOKEN = regex.compile(
    rf"""
    (?! [\p{{Z}}\p{{Cc}}\p{{Cf}}\p{{Cs}}] )
    (?: (?: {LETTER} )+ (?: ['\u2019\u00b7\u05f3\u05f4] (?: {LETTER} )+ )* | \X \p{{M}}* )
    """,
    regex.VERBOSE | regex.V1,
)
# What goes without leaving a gap, such as marks for the direction of writing; joiners and the
# letters inside a flag such as Wales' stay, and a zero-width space is a space.
INVISIBLE = regex.compile(r"[\p{Cf}--[\u200b-\u200d\U000e0020-\U000e007f]]", regex.V1)


def example_inputs() -> torch.Tensor:
    """Return the embeddings of the running example, one row per token.

    Returns:
        float32 tensor of shape (6, 3), a new one at every call.

    >>> example_inputs()[1]  # "journey", the query of the single-query passages
    tensor([0.5500, 0.8700, 0.6600])
    """
    return torch.tensor(
        [
            [0.43, 0.15, 0.89],
            [0.55, 0.87, 0.66],
            [0.57, 0.85, 0.64],
            [0.22, 0.58, 0.33],
            [0.77, 0.25, 0.10],
            [0.05, 0.80, 0.55],
        ],
        dtype=torch.float32,
    )


def example_batch(copies: int = 2) -> torch.Tensor:
    """Stack copies of the running example into a batch.

    Returns:
        float32 tensor of shape (copies, 6, 3).

    >>> example_batch().shape
    torch.Size([2, 6, 3])

    Source: section 3.5.3.
    """
    return torch.stack([example_inputs()] * copies)


def embed_text(text: str, d_in: int = 3, seed: int = 123) -> tuple[tuple[str, ...], torch.Tensor]:
    """Split a text of any language into tokens and give every token a vector.

    A real model learns its embeddings; these are drawn at random in [0, 1), so that readers can
    try sentences of their own. Equal tokens get equal vectors, on every machine and whatever
    stands around them.

    Args:
        text: the sentence.
        d_in: numbers per token.
        seed: another seed gives every token another vector.

    Returns:
        The tokens, as ``split_tokens`` finds them, and a float32 tensor of shape (T, d_in) on the
        CPU.

    Raises:
        TypeError: ``text`` is not a string.
        ValueError: ``text`` holds no token.

    >>> tokens, x = embed_text("The cat saw the cat.")
    >>> tokens
    ('The', 'cat', 'saw', 'the', 'cat', '.')
    >>> bool((x[1] == x[4]).all())
    True
    >>> embed_text("我想吃酸菜鱼")[0]
    ('我', '想', '吃', '酸', '菜', '鱼')
    """
    if not isinstance(text, str):
        raise TypeError(f"text must be a string, got {type(text).__name__}")
    tokens = split_tokens(text)
    if not tokens:
        raise ValueError(f"text must hold at least one word, got {text!r}")
    vectors = {token: _token_vector(token, d_in, seed) for token in set(tokens)}
    return tokens, torch.stack([vectors[token] for token in tokens])  # (T, d_in)


def split_tokens(text: str) -> tuple[str, ...]:
    """Split a text of any language into words, punctuation marks and other single characters.

    In scripts without spaces (Chinese, Japanese, Thai and their like) every character is a token.
    An apostrophe belongs to a word if letters stand on both sides of it. An accent, a skin tone
    or the second letter of a flag never stands alone. Tokens are in Unicode's form NFC.

    >>> split_tokens("Don't stop: 東京 ist 'groß'!")
    ("Don't", 'stop', ':', '東', '京', 'ist', "'", 'groß', "'", '!')
    """
    text = unicodedata.normalize("NFC", text)
    return tuple(TOKEN.findall(INVISIBLE.sub("", text)))


def _token_vector(token: str, d_in: int, seed: int) -> torch.Tensor:
    """Draw the vector of one token from a generator seeded by the token itself."""
    digest = hashlib.sha256(f"{seed}:{token}".encode()).digest()
    generator = torch.Generator().manual_seed(int.from_bytes(digest[:4], "big"))
    return torch.rand(d_in, generator=generator, dtype=torch.float32, device="cpu")
