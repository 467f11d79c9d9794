"""The running example: six tokens, each a vector of three numbers.

Taught in every notebook; source: section 3.3.1.
"""

import hashlib
import unicodedata

import torch

from chapter3_helpers._checks.numbers import check_size

TOKENS: tuple[str, ...] = ("Your", "journey", "starts", "with", "one", "step")

# Scripts that put no spaces between words, as Unicode names their letters: there every character
# is a token.
UNSPACED = (
    "CJK UNIFIED",
    "CJK COMPATIBILITY IDEOGRAPH",
    "IDEOGRAPHIC",
    "HIRAGANA",
    "KATAKANA",
    "HALFWIDTH KATAKANA",
    "THAI",
    "LAO ",
    "KHMER",
    "MYANMAR",
)
INSIDE_WORDS = "'\u2019\u00b7\u05f3\u05f4"  # don't, col·lecció, and two Hebrew marks
NON_JOINER, JOINER = "\u200c", "\u200d"  # invisible; inside Persian words, inside emoji
ZERO_WIDTH_SPACE = "\u200b"


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
        ],
        dtype=torch.float32,
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
    return torch.stack([example_inputs()] * check_size("copies", copies))


def embed_text(text: str, d_in: int = 3, seed: int = 123) -> tuple[tuple[str, ...], torch.Tensor]:
    """Split a text of any language into tokens and give every token a vector.

    A real model learns its embeddings; these are drawn at random in [0, 1), so that a reader can
    try a sentence of their own. Equal tokens get equal vectors, in every process and on every
    machine, whatever stands around them.

    Args:
        text: the sentence; words and punctuation marks become tokens, and in scripts without
            spaces (Chinese, Japanese, Thai and their like) every character does.
        d_in: numbers per token.
        seed: another seed gives every token another vector.

    Returns:
        The tokens, in the form that Unicode calls NFC, and a float32 tensor of shape (T, d_in).

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
    d_in, seed = check_size("d_in", d_in), check_size("seed", seed, minimum=0)
    tokens = split_tokens(text)
    if not tokens:
        raise ValueError(f"text must hold at least one word, got {text!r}")
    vectors = {token: _token_vector(token, d_in, seed) for token in set(tokens)}
    x = torch.stack([vectors[token] for token in tokens])  # (T, d_in)
    return tokens, x.to(torch.get_default_device())


def split_tokens(text: str) -> tuple[str, ...]:
    """Split a text into words, punctuation marks and single characters of unspaced scripts.

    An apostrophe belongs to a word if letters stand on both sides of it; an accent, a skin tone
    or a flag's second letter never stands alone.

    >>> split_tokens("Don't stop: 東京 ist 'groß'!")
    ("Don't", 'stop', ':', '東', '京', 'ist', "'", 'groß', "'", '!')

    Taught in ``01_dot_products``.
    """
    tokens: list[str] = []
    in_word = False  # whether a letter would continue the last token
    characters = _characters(unicodedata.normalize("NFC", text))
    for character, following in zip(characters, [*characters[1:], " "], strict=True):
        joins = _is_letter(character) or (
            in_word and character in INSIDE_WORDS and _is_letter(following)
        )
        if joins and in_word:
            tokens[-1] += character
        elif character != " ":
            tokens.append(character)
        in_word = joins
    return tuple(tokens)


def _characters(text: str) -> list[str]:
    """Split a text into what a reader sees as one character; all white space becomes ``" "``."""
    characters = [" "]
    for code in text:
        category = unicodedata.category(code)
        last = characters[-1]
        if category[0] == "Z" or category in ("Cc", "Cs") or code == ZERO_WIDTH_SPACE:
            characters.append(" ")
        elif last != " " and (
            category[0] == "M"  # an accent or a vowel sign
            or code in (NON_JOINER, JOINER)
            or last[-1] == JOINER
            or "\U0001f3fb" <= code <= "\U0001f3ff"  # a skin tone
            or "\U000e0020" <= code <= "\U000e007f"  # the letters inside a flag such as Wales'
            or (_is_half_flag(last) and _is_half_flag(code))
        ):
            characters[-1] += code
        elif category != "Cf":  # other invisible marks, such as the direction of writing
            characters.append(code)
    return characters


def _is_letter(character: str) -> bool:
    """Whether a character grows into a word with its neighbours (digits and ``_`` do, too)."""
    base = character[0]
    category = unicodedata.category(base)
    if category in ("Lo", "Lm", "Nl") and unicodedata.name(base, "").startswith(UNSPACED):
        return False
    return category[0] in "LN" or base == "_"


def _is_half_flag(character: str) -> bool:
    return len(character) == 1 and "\U0001f1e6" <= character <= "\U0001f1ff"


def _token_vector(token: str, d_in: int, seed: int) -> torch.Tensor:
    """Draw the vector of one token from a generator seeded by the token itself."""
    digest = hashlib.sha256(f"{seed}:{token}".encode()).digest()
    generator = torch.Generator("cpu").manual_seed(int.from_bytes(digest[:4], "big"))
    return torch.rand(d_in, generator=generator, dtype=torch.float32, device="cpu")
