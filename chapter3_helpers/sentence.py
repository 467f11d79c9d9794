"""The running example: six tokens, each a vector of three numbers.

Taught in every notebook; source: section 3.3.1.
"""

import hashlib
import unicodedata

import torch

from chapter3_helpers.validation import check_size, check_sizes

TOKENS: tuple[str, ...] = ("Your", "journey", "starts", "with", "one", "step")

# Scripts that write words without spaces between them: there every character is a token.
UNSPACED = ("CJK UNIFIED", "CJK COMPATIBILITY IDEOGRAPH", "HIRAGANA", "KATAKANA")


def example_inputs() -> torch.Tensor:
    """Return the embeddings of the running example, one row per token.

    Returns:
        float32 tensor of shape (6, 3), a new one at every call.

    >>> example_inputs()[1]  # "journey", the query of the single-query passages
    tensor([0.5500, 0.8700, 0.6600])

    Source: section 3.3.1. Taught in ``01_dot_products``.
    """
    return torch.tensor(
        [
            [0.43, 0.15, 0.89],
            [0.55, 0.87, 0.66],
            [0.57, 0.85, 0.64],
            [0.22, 0.58, 0.33],
            [0.77, 0.25, 0.10],
            [0.05, 0.80, 0.55],
        ]
    )


def example_batch(copies: int = 2) -> torch.Tensor:
    """Stack copies of the running example into a batch.

    Returns:
        float32 tensor of shape (copies, 6, 3).

    Raises:
        TypeError, ValueError: ``copies`` is not an integer of at least 1.

    >>> example_batch().shape
    torch.Size([2, 6, 3])

    Source: section 3.5.3. Taught in ``05_dropout``.
    """
    check_size("copies", copies)
    return torch.stack([example_inputs()] * copies)


def embed_text(text: str, d_in: int = 3, seed: int = 123) -> tuple[tuple[str, ...], torch.Tensor]:
    """Split a text of any language into tokens and give every token a vector.

    A real model learns its embeddings; these are drawn at random in [0, 1), so that a reader can
    try a sentence of their own. Equal tokens get equal vectors, in every process and on every
    machine, whatever stands around them.

    Args:
        text: the sentence; words and punctuation marks become tokens, and in scripts without
            spaces (Chinese, Japanese) every character does.
        d_in: numbers per token.
        seed: another seed gives every token another vector.

    Returns:
        The tokens, and a float32 tensor of shape (T, d_in).

    Raises:
        TypeError: ``text`` is not a string, or ``d_in`` or ``seed`` not an integer.
        ValueError: ``text`` holds no token, ``d_in`` is below 1, or ``seed`` below 0.

    >>> tokens, x = embed_text("The cat saw the cat.")
    >>> tokens
    ('The', 'cat', 'saw', 'the', 'cat', '.')
    >>> bool((x[1] == x[4]).all())
    True
    >>> embed_text("我想吃酸菜鱼")[0]
    ('我', '想', '吃', '酸', '菜', '鱼')

    Taught in ``01_dot_products``.
    """
    if not isinstance(text, str):
        raise TypeError(f"text must be a string, got {type(text).__name__}")
    check_sizes(d_in=d_in)
    check_size("seed", seed, minimum=0)
    tokens = split_tokens(text)
    if not tokens:
        raise ValueError(f"text must hold at least one word, got {text!r}")
    vectors = {token: _token_vector(token, d_in, seed) for token in set(tokens)}
    return tokens, torch.stack([vectors[token] for token in tokens])


def split_tokens(text: str) -> tuple[str, ...]:
    """Split a text into words, punctuation marks and single characters of unspaced scripts.

    >>> split_tokens("Don't stop: 東京 ist groß!")
    ("Don't", 'stop', ':', '東', '京', 'ist', 'groß', '!')
    """
    tokens: list[str] = []
    joins = False  # whether the next letter continues the last token
    for character in text:
        category = unicodedata.category(character)
        if category[0] in "ZC" and character != "\u200d":  # spaces and control characters
            joins = False
        elif tokens and (category[0] == "M" or character == "\u200d"):
            tokens[-1] += character  # an accent belongs to the character before it
        elif unicodedata.name(character, "").startswith(UNSPACED):
            tokens.append(character)
            joins = False
        elif category[0] in "LN" or character in "'’_":
            if joins:
                tokens[-1] += character
            else:
                tokens.append(character)
            joins = True
        else:
            tokens.append(character)
            joins = False
    return tuple(tokens)


def _token_vector(token: str, d_in: int, seed: int) -> torch.Tensor:
    """Draw the vector of one token from a generator seeded by the token itself."""
    digest = hashlib.sha256(f"{seed}:{token}".encode(errors="surrogatepass")).digest()
    generator = torch.Generator().manual_seed(int.from_bytes(digest[:4], "big"))
    return torch.rand(d_in, generator=generator)
