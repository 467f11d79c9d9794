"""Can weights be written by hand? A GPT-2-like decoder that continues (aab)*, in NumPy alone.

Nothing here is trained. Every token is a row of eight columns::

    column   0  1  2  3  4     5     6     7
    holds    position, one-hot is a  is b  scratch

Taught in ``11_handmade_transformer``. Source: the essay on a transformer made by hand.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np

ALPHABET = "ab"  # the id of a token is its place here
LARGE = 1024.0
HIDDEN = -1e10  # what the mask adds to the score of a later token
Arrays = Mapping[str, np.ndarray]  # by name


@dataclass(frozen=True, eq=False, repr=False)
class HandmadeTransformer:
    """The weights of one attention layer between a token embedding and its transpose.

    They never change: the arrays are read-only copies, and ``with_weight`` makes a new model.

    >>> MODEL
    HandmadeTransformer(320 weights, 26 of them not zero)
    """

    token_embedding: np.ndarray  # (2, d); transposed, it also makes the logits
    position_embedding: np.ndarray  # (context_length, d)
    W_query: np.ndarray  # (d, d), as the next two; side by side they are GPT-2's c_attn
    W_key: np.ndarray
    W_value: np.ndarray
    c_proj: np.ndarray  # (d, d), back into the residual stream
    c_proj_bias: np.ndarray  # (d,)

    def __post_init__(self):
        for name, weights in self.weights().items():
            array = np.array(weights, dtype=np.float64)
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    def __repr__(self) -> str:
        every = np.concatenate([array.ravel() for array in self.weights().values()])
        used = np.count_nonzero(every)
        return f"HandmadeTransformer({every.size} weights, {used} of them not zero)"

    @property
    def context_length(self) -> int:
        """The most tokens that it reads at once."""
        return len(self.position_embedding)

    def weights(self) -> Arrays:
        """Return every weight array by its name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def with_weight(self, name: str, index: int | Sequence[int], value: float) -> Self:
        """Return a copy in which one weight differs: which array, where in it, and the new weight.

        >>> complete("aab", 8, MODEL.with_weight("W_query", (4, 3), 0.0))
        'aabababa'
        """
        if name not in self.weights():
            raise ValueError(f"name must be one of {', '.join(self.weights())}, got {name!r}")
        weights = self.weights()[name].copy()
        place = tuple(np.atleast_1d(index).tolist())
        if place not in np.ndindex(weights.shape):  # a row would be changed as a whole
            raise ValueError(f"index must be a place in {name} {weights.shape}, got {index!r}")
        weights[place] = value
        return replace(self, **{name: weights})


def handmade_model() -> HandmadeTransformer:
    """Write the weights: each line is one thing that the model has to know."""
    A, B, SCRATCH = 5, 6, 7
    token_embedding, position_embedding = np.zeros((2, 8)), np.eye(5, 8)
    token_embedding[0, A] = token_embedding[1, B] = 1.0
    (W_query, W_key, W_value, c_proj), c_proj_bias = np.zeros((4, 8, 8)), np.zeros(8)
    for position in range(5):
        W_key[position, position] = 1.0  # "I stand here"
        W_query[position, position] = LARGE  # "I look for myself ..."
        W_query[position, max(position - 1, 0)] = LARGE  # "... and for the one before me"
    W_value[A, SCRATCH], W_value[B, SCRATCH] = 1.0, -1.0
    c_proj_bias[A] = LARGE  # say a, ...
    c_proj[SCRATCH, A], c_proj[SCRATCH, B] = -LARGE, LARGE  # ... unless both were a
    return HandmadeTransformer(
        token_embedding, position_embedding, W_query, W_key, W_value, c_proj, c_proj_bias
    )


MODEL = handmade_model()


def tokenize(text: str) -> list[int]:
    """Turn a text of a and b into token ids.

    Raises:
        ValueError: there is no character in it, or one that the model does not know.

    >>> tokenize("aab")
    [0, 0, 1]
    """
    if not text:
        raise ValueError(f"text must hold at least one character, got {text!r}")
    if strangers := text.strip(ALPHABET):  # starts with the first of them
        raise ValueError(f"text must hold only a and b, got {strangers[0]!r} in {text!r}")
    return [ALPHABET.index(character) for character in text]


def untokenize(ids: Sequence[int]) -> str:
    """Turn token ids back into text.

    Raises:
        ValueError: an id is neither 0 nor 1.

    >>> untokenize([0, 0, 1])
    'aab'
    """
    for token in ids:
        if token not in range(len(ALPHABET)):
            raise ValueError(f"ids must hold only 0 (a) and 1 (b), got {token!r}")
    return "".join(ALPHABET[token] for token in ids)


def forward(ids: Sequence[int], model: HandmadeTransformer) -> Arrays:
    """Run the model, and keep every intermediate result.

    Args:
        ids: T token ids.
        model: whose weights to use.

    Returns:
        embedding, queries, keys, values, context and update (T, d); scores before the mask and
        weights (T, T); logits (T, 2).

    Raises:
        ValueError: more than ``context_length`` tokens.

    >>> forward(tokenize("aabaa"), MODEL)["logits"][-1].tolist()  # for a, for b
    [1.0, 1024.0]
    """
    T = len(ids)
    if model.context_length < T:
        raise ValueError(f"at most {model.context_length} tokens fit, got {T}")
    embedding = model.token_embedding[ids] + model.position_embedding[:T]  # (T, d)
    queries = embedding @ model.W_query  # (T, d)
    keys, values = embedding @ model.W_key, embedding @ model.W_value  # (T, d)
    scores = queries @ keys.T / np.sqrt(queries.shape[-1])  # (T, T)
    mask = np.triu(np.full((T, T), HIDDEN), k=1)  # (T, T)
    weights = softmax(scores + mask)  # (T, T)
    context = weights @ values  # (T, T) @ (T, d) -> (T, d)
    update = context @ model.c_proj + model.c_proj_bias  # (T, d)
    logits = (embedding + update) @ model.token_embedding.T  # (T, d) @ (d, 2) -> (T, 2)
    steps = {"embedding": embedding, "queries": queries, "keys": keys, "values": values}
    steps |= {"scores": scores, "weights": weights, "context": context}
    return steps | {"update": update, "logits": logits}


def softmax(scores: np.ndarray) -> np.ndarray:
    """Turn every row of scores (..., T) into weights: notebook 02's function, in NumPy.

    >>> softmax(np.array([0.0, 0.0, -1e10]))
    array([0.5, 0.5, 0. ])
    """
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def predict_next(text: str, model: HandmadeTransformer = MODEL) -> str:
    """Return the character with the largest last logit (a, if both are equal).

    Only the last ``context_length`` characters are read.

    >>> predict_next("aabaa")
    'b'
    """
    ids = tokenize(text)[-model.context_length :]
    return ALPHABET[int(forward(ids, model)["logits"][-1].argmax())]


def complete(prompt: str, max_new_tokens: int = 10, model: HandmadeTransformer = MODEL) -> str:
    """Return what the model writes after a prompt, one most likely character after another.

    >>> complete("a", 10)
    'baabaabaab'
    """
    text = prompt
    for _ in range(max_new_tokens):
        text += predict_next(text, model)
    return text[len(prompt) :]


def accuracy(text: str, model: HandmadeTransformer = MODEL) -> tuple[int, int]:
    """Predict the characters of a text, each from those before it; return (right, predicted).

    The first two are given, since the pattern can't be known before them, and the last one is
    left out, as in the published count.

    >>> accuracy("aab" * 10)
    (27, 27)
    """
    if len(tokenize(text)) < 4:
        raise ValueError(f"text must hold at least 4 characters, got {text!r}")
    places = range(2, len(text) - 1)
    return sum(predict_next(text[:i], model) == text[i] for i in places), len(places)


def count_operations(n: int, model: HandmadeTransformer = MODEL, kept: int = 0) -> dict[str, int]:
    """Count the floating-point operations of the last n rows of ``forward``, by kind.

    A matrix product (n, k) @ (k, m) counts 2 n k m: as many multiplications as additions. Folding
    k numbers into one, by sum or maximum, counts k - 1; anything else one for each result.

    Args:
        n: how many tokens are read.
        model: whose sizes to use.
        kept: how many tokens before them have their keys and values in a cache.

    >>> count_operations(1)["exp"]  # one token: a softmax over one score
    1
    """
    d, T, vocabulary = model.position_embedding.shape[1], kept + n, len(ALPHABET)
    products = [(n, d, 3 * d), (n, d, T), (n, T, d), (n, d, d), (n, d, vocabulary)]
    return {
        "matmul": sum(2 * rows * inner * columns for rows, inner, columns in products),
        "add": n * d + n * T + n * (T - 1) + n * d + n * d,  # position, mask, sum, bias, residual
        "divide": n * T + n * T,  # by the root, and by the sum
        "maximum": n * (T - 1),
        "subtract": n * T,
        "exp": n * T,
    }
