"""Why attention? One hidden state against a look back at every state.

A word stands for a sentence, and its letters for the words of that sentence; in tensors a letter is
a number from 0 to 25. ``tasks.translators`` teaches both models to write such words backwards.

Source: sections 3.1 and 3.2. Taught in ``00_why_attention``.
"""

import string

import torch
from torch import nn

ALPHABET = string.ascii_lowercase


def tokenize(word: str) -> torch.Tensor:
    """Turn a word into a batch of one, (1, T): the number of every letter, capital or not.

    Raises:
        TypeError: ``word`` is not a string.
        ValueError: ``word`` is empty, or holds anything but the letters a to z.

    >>> tokenize("cab")
    tensor([[2, 0, 1]])
    """
    if not isinstance(word, str):
        raise TypeError(f"word must be a string, got {type(word).__name__}")
    strangers = sorted(set(word.lower()) - set(ALPHABET))
    if strangers or not word:
        what = f"{', '.join(map(repr, strangers))} in {word!r}" if word else "an empty string"
        raise ValueError(f"word must consist of the letters a to z, got {what}")
    return torch.tensor([[ALPHABET.index(letter) for letter in word.lower()]])


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
