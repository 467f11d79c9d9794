"""Can weights be written by hand? A GPT-2-like decoder that continues (aab)*, in NumPy alone.

Nothing here is trained. Every token is a row of eight columns::

    column   0  1  2  3  4     5     6     7
    holds    position, one-hot is a  is b  scratch

Source: the essay on a transformer made by hand. Taught in ``10_handmade_transformer``.
"""

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from chapter3_helpers._checks.numbers import check_choice, check_number, check_size

ALPHABET = "ab"  # the id of a token is its place here
LARGE = 1024.0
HIDDEN = -1e10  # what the mask adds to the score of a later token
LARGEST_WEIGHT = 1e6  # no product of weights up to here can overflow


@dataclass(frozen=True, eq=False, repr=False)
class HandmadeTransformer:
    """The weights of one attention layer between a token embedding and its transpose.

    An instance never changes: its arrays are read-only copies, and ``with_weight`` makes a new
    model. T positions of any width d will do; the vocabulary is always ``ALPHABET``.

    Args:
        token_embedding: one row a token, (2, d); transposed, it also makes the logits.
        position_embedding: one row a position, (context_length, d).
        W_query, W_key, W_value: (d, d) each; side by side they are GPT-2's ``c_attn``.
        c_proj, c_proj_bias: the projection back into the residual stream, (d, d) and (d,).

    Raises:
        TypeError, ValueError: arrays that hold no numbers, shapes that do not fit, or weights that
            are not finite numbers up to 1e6.

    >>> MODEL
    HandmadeTransformer(320 weights, 26 of them not zero)

    Taught in ``10_handmade_transformer``.
    """

    token_embedding: np.ndarray
    position_embedding: np.ndarray
    W_query: np.ndarray
    W_key: np.ndarray
    W_value: np.ndarray
    c_proj: np.ndarray
    c_proj_bias: np.ndarray

    def __post_init__(self):
        d = np.shape(self.token_embedding)[-1:]
        expected = dict.fromkeys(("W_query", "W_key", "W_value", "c_proj"), (*d, *d))
        expected |= {"token_embedding": (len(ALPHABET), *d), "c_proj_bias": d}
        expected["position_embedding"] = (*np.shape(self.position_embedding)[:1], *d)
        for name, weights in self.weights().items():
            try:
                weights = np.array(weights, dtype=np.float64, subok=True)
            except (TypeError, ValueError) as error:
                raise TypeError(f"{name} must be an array of numbers, got {weights!r}") from error
            if weights.shape != expected[name] or weights.size == 0:
                raise ValueError(f"{name} must have shape {expected[name]}, got {weights.shape}")
            if not (np.abs(weights) <= LARGEST_WEIGHT).all():
                worst = weights.flat[np.argmin(np.abs(weights) <= LARGEST_WEIGHT)]
                raise ValueError(
                    f"{name} must hold numbers from {-LARGEST_WEIGHT:g} to {LARGEST_WEIGHT:g}, "
                    f"got {worst}"
                )
            weights.setflags(write=False)
            object.__setattr__(self, name, weights)

    def __reduce__(self) -> tuple:
        return type(self), tuple(self.weights().values())  # a copy is read-only, too

    def __repr__(self) -> str:
        sizes = [weights.size for weights in self.weights().values()]
        used = [np.count_nonzero(weights) for weights in self.weights().values()]
        return f"HandmadeTransformer({sum(sizes)} weights, {sum(used)} of them not zero)"

    @property
    def context_length(self) -> int:
        """The most tokens that it reads at once."""
        return len(self.position_embedding)

    def weights(self) -> dict[str, np.ndarray]:
        """Return every weight array by its name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def with_weight(
        self, name: str, index: int | Sequence[int], value: float
    ) -> "HandmadeTransformer":
        """Return a copy of the model in which one weight differs.

        Args:
            name: which array, ``"W_query"`` say.
            index: row and column in it; for ``c_proj_bias`` the column alone.
            value: the new weight.

        Raises:
            TypeError, ValueError: no such array, no such place in it, or no number up to 1e6.

        >>> complete("aab", 8, MODEL.with_weight("W_query", (4, 3), 0.0))
        'aabababa'
        """
        check_choice("name", name, list(self.weights()))
        check_number("value", value)
        weights = self.weights()[name].copy()
        place = tuple(np.atleast_1d(index).tolist())
        if len(place) != weights.ndim or not all(
            isinstance(number, int) and 0 <= number < size
            for number, size in zip(place, weights.shape, strict=True)
        ):
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
        TypeError, ValueError: ``text`` is no string, is empty, or holds another character.

    >>> tokenize("aab")
    [0, 0, 1]
    """
    return _tokenize("text", text)


def untokenize(ids: Sequence[int]) -> str:
    """Turn token ids back into text.

    Raises:
        TypeError, ValueError: ``ids`` is no sequence of integers, or one of them is no token's.

    >>> untokenize([0, 0, 1])
    'aab'
    """
    return "".join(ALPHABET[token] for token in _check_ids(ids))


def forward(
    ids: Sequence[int],
    model: HandmadeTransformer = MODEL,
    past: Mapping[str, np.ndarray] | None = None,
) -> dict[str, np.ndarray]:
    """Run the model, and keep every intermediate result.

    Args:
        ids: n token ids.
        model: the weights.
        past: a cache: ``keys`` and ``values`` of tokens that came before, (t, d) each; what an
            earlier call returned will do.

    Returns:
        With T = t + n: embedding, queries, update, context and output (n, d); keys and values
        (T, d); scores before the mask and weights (n, T); logits (n, 2).

    Raises:
        TypeError, ValueError: no ids, ids that are no tokens, or more than ``context_length``.

    >>> forward(tokenize("aabaa"))["logits"][-1].tolist()  # for a, for b
    [1.0, 1024.0]
    """
    _check_model(model)
    ids, d = _check_ids(ids), model.token_embedding.shape[1]
    start = 0 if past is None else _past_length(past, d)
    n, T = len(ids), start + len(ids)
    room = model.context_length - start
    if room < 1:
        raise ValueError(f"past must hold fewer than {model.context_length} tokens, got {start}")
    if not 0 < n <= room:
        raise ValueError(f"ids must hold 1 to {room} tokens, got {n}")
    embedding = model.token_embedding[ids] + model.position_embedding[start:T]  # (n, d)
    queries = embedding @ model.W_query  # (n, d)
    keys, values = embedding @ model.W_key, embedding @ model.W_value  # (n, d)
    if past is not None:
        keys = np.concatenate([past["keys"], keys])  # (T, d)
        values = np.concatenate([past["values"], values])  # (T, d)
    scores = queries @ keys.T / np.sqrt(d)  # (n, T)
    weights = softmax(scores + np.triu(np.full((n, T), HIDDEN), k=start + 1))
    context = weights @ values  # (n, T) @ (T, d) -> (n, d)
    update = context @ model.c_proj + model.c_proj_bias  # (n, d)
    output = embedding + update  # the residual connection
    logits = output @ model.token_embedding.T  # (n, d) @ (d, 2) -> (n, 2)
    return {
        "embedding": embedding,
        "queries": queries,
        "keys": keys,
        "values": values,
        "scores": scores,
        "weights": weights,
        "context": context,
        "update": update,
        "output": output,
        "logits": logits,
    }


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

    Raises:
        TypeError, ValueError: ``text`` is no string, is empty, or holds another character.

    >>> predict_next("aabaa")
    'b'
    """
    _check_model(model)
    ids = _tokenize("text", text)[-model.context_length :]
    return ALPHABET[int(forward(ids, model)["logits"][-1].argmax())]


def complete(prompt: str, max_new_tokens: int = 10, model: HandmadeTransformer = MODEL) -> str:
    """Return what the model writes after a prompt, one most likely character after another.

    Raises:
        TypeError, ValueError: as ``predict_next``, or ``max_new_tokens`` is below 0.

    >>> complete("a", 10)
    'baabaabaab'
    """
    check_size("max_new_tokens", max_new_tokens, minimum=0)
    _check_model(model)
    text = untokenize(_tokenize("prompt", prompt))
    for _ in range(max_new_tokens):
        text += predict_next(text, model)
    return text[len(prompt) :]


def accuracy(text: str, model: HandmadeTransformer = MODEL) -> tuple[int, int]:
    """Predict the characters of a text, each from those before it.

    The first two are given, since the pattern can't be known before them, and the last one is
    left out, as in the published count.

    Returns:
        How many were right, and of how many.

    Raises:
        TypeError, ValueError: as ``predict_next``, or ``text`` holds fewer than 4 characters.

    >>> accuracy("aab" * 10)
    (27, 27)
    """
    if len(_tokenize("text", text)) < 4:
        raise ValueError(f"text must hold at least 4 characters, got {text!r}")
    places = range(2, len(text) - 1)
    return sum(predict_next(text[:i], model) == text[i] for i in places), len(places)


def _tokenize(name: str, text: str) -> list[int]:
    """Tokenize, and call the text by its own name where something is wrong with it."""
    if not isinstance(text, str):
        raise TypeError(f"{name} must be a string, got {type(text).__name__}")
    for character in text:
        if character not in ALPHABET:
            raise ValueError(f"{name} must hold only a and b, got {character!r} in {text!r}")
    if not text:
        raise ValueError(f"{name} must hold at least one character, got ''")
    return [ALPHABET.index(character) for character in text]


def _check_ids(ids: Sequence[int]) -> list[int]:
    """Refuse what is no sequence of token ids; NumPy's integers will do."""
    try:
        checked = [operator.index(token) for token in ids]
    except TypeError as error:
        raise TypeError(f"ids must be a sequence of integers, got {ids!r}") from error
    for token in checked:
        if not 0 <= token < len(ALPHABET):
            raise ValueError(f"ids must be 0 (a) or 1 (b), got {token}")
    return checked


def _check_model(model: HandmadeTransformer) -> None:
    if not isinstance(model, HandmadeTransformer):
        raise TypeError(f"model must be a HandmadeTransformer, got {type(model).__name__}")


def _past_length(past: Mapping[str, np.ndarray], d: int) -> int:
    """Return how many tokens a cache holds; refuse one without keys and values of width d."""
    if not isinstance(past, Mapping) or not {"keys", "values"} <= past.keys():
        raise TypeError(f"past must be a mapping with keys and values, got {past!r}")
    shapes = np.shape(past["keys"]), np.shape(past["values"])
    if shapes[0] != shapes[1] or len(shapes[0]) != 2 or shapes[0][1] != d:
        raise ValueError(
            f"past must hold keys and values of shape (t, {d}), got {shapes[0]} and {shapes[1]}"
        )
    return shapes[0][0]
