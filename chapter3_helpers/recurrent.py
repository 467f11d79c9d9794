"""Why attention? One hidden state against a look back at every state.

Both models learn the toy language of ``training.toy_language`` in seconds.

Source: sections 3.1 and 3.2. Taught in ``00_why_attention``.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from chapter3_helpers._checks.modules import checked
from chapter3_helpers._checks.numbers import check_flag, check_size, check_sizes
from chapter3_helpers._checks.tensors import check_tensor
from chapter3_helpers.training.loop import device_of, minimise
from chapter3_helpers.training.toy_language import (
    ALPHABET,
    check_letters,
    random_words,
    tokenize,
    translation,
)

TRAINED_LENGTHS = (4, 10)  # the shortest and the longest word of the training
BATCH_SIZE = 32
LEARNING_RATE = 0.007  # at its peak: it rises over the first tenth, then falls to zero


def _width(name: str, given: Mapping[str, Any], module: nn.Module) -> int:
    d = check_size(name, given[name], minimum=2)
    if d % 2:
        raise ValueError(f"d must be even, one half for each direction, got {d}")
    return d


def _letters(name: str, given: Mapping[str, Any], module: nn.Module) -> None:
    check_letters(given[name])


def _last(name: str, given: Mapping[str, Any], module: nn.Module) -> None:
    last = given[name]
    check_tensor(name, last, dims=(2,), form=f"(B, {module.d})")
    if last.shape[1] != module.d:
        raise ValueError(f"{name} must have shape (B, {module.d}), got {tuple(last.shape)}")


@checked(methods=("encode", "decode"), d=_width, letters=_letters, last=_last)
class EncoderDecoder(nn.Module):
    """Two recurrent networks with one hidden state between them.

    The encoder reads the word letter by letter, in both directions, and hands over ``last``: the
    two states in which the directions end, side by side. From this vector alone the decoder
    writes the translation; it starts from it and reads it again at every step.

    ::

        letters (B, T) --embedding, encoder--> states (B, T, d), which nobody reads again
                                               last   (B, d) --decoder--> (B, T, d)
                                                             --output---> logits (B, T, 26)

    Args:
        d: numbers in a state, half of them for each direction.

    Raises:
        TypeError, ValueError: ``d`` is not an even integer of at least 2.

    >>> _ = torch.manual_seed(0)
    >>> EncoderDecoder()(tokenize("cat")).shape  # one word, three letters, 26 to choose from
    torch.Size([1, 3, 26])

    Source: section 3.2.
    """

    def __init__(self, d: int = 64):
        super().__init__()
        self.embedding = nn.Embedding(len(ALPHABET), d // 2)
        self.encoder = nn.GRU(d // 2, d // 2, batch_first=True, bidirectional=True)
        self.decoder = nn.GRU(d, d, batch_first=True)
        self.output = nn.Linear(d, len(ALPHABET))

    def forward(self, letters: torch.Tensor) -> torch.Tensor:
        """Map words (B, T) to logits (B, T, 26), one row per letter to write."""
        _, last = self.encode(letters)
        return self.output(self.decode(last, steps=letters.shape[1]))

    def encode(self, letters: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Read words (B, T): return the state at every letter (B, T, d), and the last (B, d)."""
        states, ends = self.encoder(self.embedding(letters))  # (B, T, d), (2, B, d / 2)
        return states, ends.transpose(0, 1).flatten(start_dim=1)

    def decode(self, last: torch.Tensor, steps: int) -> torch.Tensor:
        """Unroll the decoder from the last state (B, d) alone: return its states (B, steps, d)."""
        contexts = last.unsqueeze(1).expand(-1, steps, -1)  # the same vector at every step
        return self.decoder(contexts, last.unsqueeze(0).contiguous())[0]


@checked(methods=("look_and_decode",), d=_width, letters=_letters)
class BahdanauDecoder(EncoderDecoder):
    """An encoder-decoder whose decoder looks back at every state of the encoder.

    New compared with ``EncoderDecoder``: before each step the decoder's state q scores every state
    k of the encoder, v . tanh(W q + U k); softmax turns the scores into weights, and the step
    reads the weighted sum of the states. The decoder starts from zeros, so that everything it
    knows about the word has come through the weights.

    ::

        q (B, d)         --W_query--+
                                    +--tanh, v--> scores (B, T) --softmax--> weights (B, T)
        states (B, T, d) --W_key----+                   weights @ states --> context (B, d)

    Args:
        d: numbers in a state, half of them for each direction.

    Raises:
        TypeError, ValueError: ``d`` is not an even integer of at least 2.

    >>> _ = torch.manual_seed(0)
    >>> BahdanauDecoder().attention_weights(tokenize("cat")).shape  # 3 letters out, 3 letters in
    torch.Size([1, 3, 3])

    Source: section 3.2; Bahdanau, Cho and Bengio, 2014.
    """

    def __init__(self, d: int = 64):
        super().__init__(d)
        self.W_query = nn.Linear(d, d, bias=False)
        self.W_key = nn.Linear(d, d, bias=False)
        self.v = nn.Linear(d, 1, bias=False)

    def forward(self, letters: torch.Tensor) -> torch.Tensor:
        """Map words (B, T) to logits (B, T, 26), one row per letter to write."""
        return self.output(self.look_and_decode(letters)[0])

    def attention_weights(self, letters: torch.Tensor) -> torch.Tensor:
        """Return the weights (B, T, T): a row per letter written, a column per letter read."""
        return self.look_and_decode(letters)[1]

    def look_and_decode(self, letters: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the decoder's states (B, T, d) and the weights (B, T, T) behind them."""
        states, _ = self.encode(letters)
        keys = self.W_key(states)  # (B, T, d), the same at every step
        query = torch.zeros_like(states[:, 0])  # (B, d)
        decoded, alignment = [], []
        for _ in range(letters.shape[1]):
            hidden = torch.tanh(self.W_query(query).unsqueeze(1) + keys)  # (B, T, d)
            weights = torch.softmax(self.v(hidden).squeeze(-1), dim=-1)  # (B, T)
            context = weights.unsqueeze(1) @ states  # (B, 1, T) @ (B, T, d) -> (B, 1, d)
            query = self.decoder(context, query.unsqueeze(0))[0].squeeze(1)  # (B, d)
            decoded.append(query)
            alignment.append(weights)
        return torch.stack(decoded, dim=1), torch.stack(alignment, dim=1)


@torch.no_grad()
def translate(model: nn.Module, word: str) -> str:
    """Let a model translate a word: at every step it writes the letter with the largest logit.

    Raises:
        TypeError, ValueError: ``model`` is not an ``nn.Module``; ``word`` as in ``tokenize``.

    >>> _ = torch.manual_seed(0)
    >>> len(translate(EncoderDecoder(), "untrained"))  # as many letters as it reads
    9
    """
    chosen = model(tokenize(word).to(device_of(model))).argmax(dim=-1)[0]
    return "".join(ALPHABET[letter] for letter in chosen.tolist()).upper()


def train(
    model: nn.Module,
    batches: int = 1000,
    lengths: tuple[int, int] = TRAINED_LENGTHS,
    seed: int = 0,
    progress: bool = True,
) -> list[float]:
    """Train a model in place on random words; the words of one batch are equally long.

    Args:
        model: maps letters (B, T) to logits (B, T, 26).
        batches: how many steps, of 32 words each.
        lengths: the shortest and the longest word.
        seed: of the words; the model's own weights were drawn before.
        progress: whether a bar with the loss is shown.

    Returns:
        The loss of every batch.

    Raises:
        TypeError, ValueError: ``model`` is not an ``nn.Module``, a size is not an integer of at
            least 1, the longest word is shorter than the shortest, ``seed`` is below 0, or
            ``progress`` is not a bool.

    >>> _ = torch.manual_seed(0)
    >>> losses = train(EncoderDecoder(), batches=20, lengths=(2, 2), progress=False)
    >>> losses[-1] < losses[0]
    True
    """
    device = device_of(model)
    if not (isinstance(lengths, tuple) and len(lengths) == 2):
        raise TypeError(f"lengths must be a tuple (shortest, longest), got {lengths!r}")
    shortest, longest = lengths
    batches, shortest = check_sizes(batches=batches, shortest=shortest)
    longest = check_size("longest", longest, minimum=shortest)
    seed = check_size("seed", seed, minimum=0)
    check_flag("progress", progress)
    generator = torch.Generator().manual_seed(seed)

    def draw_loss() -> torch.Tensor:
        length = int(torch.randint(shortest, longest + 1, (), generator=generator))
        letters = random_words(BATCH_SIZE, length, generator).to(device)
        logits = model(letters)  # (B, T, 26)
        return functional.cross_entropy(logits.flatten(0, 1), translation(letters).flatten())

    title = type(model).__name__ if progress else ""
    return minimise(model, draw_loss, batches, LEARNING_RATE, max_norm=1.0, title=title)


@torch.no_grad()
def accuracy_by_length(
    model: nn.Module, lengths: Iterable[int], words: int = 200, seed: int = 1
) -> torch.Tensor:
    """Return the share of letters that a model gets right, one number per word length.

    Every length is tried on ``words`` new random words, the same for every model.

    Raises:
        TypeError, ValueError: ``model`` is not an ``nn.Module``, or a length or ``words`` is not
            an integer of at least 1.

    >>> accuracy_by_length(EncoderDecoder(), lengths=range(4, 11)).shape
    torch.Size([7])
    """
    device = device_of(model)
    shares = []
    for length in lengths:
        letters = random_words(words, length, seed).to(device)
        right = model(letters).argmax(dim=-1) == translation(letters)
        shares.append(right.float().mean().item())
    return torch.tensor(shares)
