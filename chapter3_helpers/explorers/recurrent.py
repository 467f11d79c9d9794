"""The explorer of ``00_why_attention``: what is left of every letter in the last hidden state.

Nothing is trained here: a letter is changed, and how far each state of the encoder moves is
measured. The update gate can be pushed towards keeping, which is what training can learn to do.
"""

from typing import Any

import torch

from chapter3_helpers.explorers.controls import Pick, Settings, Slider, Steps, Words
from chapter3_helpers.explorers.inputs import seeded, up_to
from chapter3_helpers.explorers.panels import Bars, Facts, Matrix, Note, Panel
from chapter3_helpers.explorers.widget import explorer_function
from chapter3_helpers.recurrent import EncoderDecoder
from chapter3_helpers.training.toy_language import ALPHABET, tokenize

FORWARDS, BACKWARDS, BOTH = "forwards", "backwards", "both ways"
LONGEST = 24


def read_letters(word: str) -> str:
    """Return a word in small letters.

    Raises:
        ValueError: it is empty or too long, or holds anything but a to z.
    """
    letters = word.lower()
    strangers = [letter for letter in letters if letter not in ALPHABET]
    if strangers:
        raise ValueError(f"The encoder reads the letters a to z, not “{strangers[0]}”.")
    if not 0 < len(letters) <= LONGEST:
        raise ValueError(f"This word has {len(letters)} letters; type 1 to {LONGEST}.")
    return letters


CONTROLS = (
    Words("word", "word", "internationalisation", "Type a word of your own, letters a to z"),
    Steps(
        "read",
        "letters read",
        12,
        "How far the word has been read",
        options=up_to(lambda settings: read_letters(settings["word"])),
    ),
    Pick(
        "direction",
        "reading",
        FORWARDS,
        "Which half of every state is looked at, or both",
        options=(FORWARDS, BACKWARDS, BOTH),
    ),
    Slider(
        "keep",
        "keep",
        0.0,
        "Added to the update gate's bias: the larger, the more a state keeps of the one before",
        low=0.0,
        high=6.0,
        step=0.5,
    ),
    Steps(
        "d",
        "d",
        64,
        "Numbers in a state, half of them for each direction",
        options=(2, 4, 8, 16, 32, 64, 128),
    ),
    Slider("seed", "seed", 123, "Another seed draws other weights", low=0, high=999),
)


def _half(settings: Settings) -> slice:
    """Return which numbers of a state belong to the direction."""
    half = settings["d"] // 2
    ends = {FORWARDS: (0, half), BACKWARDS: (half, 2 * half), BOTH: (0, 2 * half)}
    return slice(*ends[settings["direction"]])


def recurrent_state(settings: Settings) -> dict[str, Any]:
    """Change every letter in turn to the next of the alphabet and measure what moves.

    Returns:
        ``letters``; ``moved`` (T, T): how far the state at each letter (column) moves when a
        letter (row) is changed; ``share`` (T,): how far the last state moves, as a share of how
        far the changed letter's own state moves.

    Raises:
        ValueError: the word is empty or too long, or holds anything but a to z.
    """
    letters, d = read_letters(settings["word"])[: settings["read"]], settings["d"]
    half = _half(settings)
    with seeded(settings["seed"]):
        model = EncoderDecoder(d).requires_grad_(False)
    for bias in (model.encoder.bias_ih_l0, model.encoder.bias_ih_l0_reverse):
        bias[d // 2 : d] += settings["keep"]  # reset, update, new: the second third
    word = tokenize(letters)
    changed = (word + torch.eye(len(letters), dtype=torch.long)) % len(ALPHABET)  # (T, T)
    states, last = model.encode(torch.cat([word, changed]))  # (1 + T, T, d), (1 + T, d)
    moved = (states[1:] - states[0])[..., half].norm(dim=-1)  # (T, T)
    share = (last[1:] - last[0])[:, half].norm(dim=-1) / moved.diagonal()
    return {"letters": letters, "moved": moved, "share": share}


def recurrent_panels(settings: Settings) -> list[Panel]:
    """Return what is left of every letter in the last state, and how far every state moves."""
    state = recurrent_state(settings)
    letters, moved, half = state["letters"], state["moved"], _half(settings)
    labels, own = [f"{i}: {letter}" for i, letter in enumerate(letters)], moved.diagonal()
    width = half.stop - half.start
    facts = {
        "numbers in the last state": f"{width}, however long the word",
        "numbers in all states": f"{len(letters)} · {width} = {len(letters) * width}",
        "a letter moves its own state by": f"{own.mean().item():.4f} (mean over the letters)",
    }
    return [
        Note(_note(state)),
        Bars("left in the last state", labels, state["share"]),
        Matrix(
            "how far every state moves, as a share of the changed letter's own",
            moved / own[:, None],
            labels,
            corner=("letter changed", "state at"),
        ),
        Facts(facts, "room"),
    ]


def _note(state: dict[str, Any]) -> str:
    letters, share, own = state["letters"], state["share"], state["moved"].diagonal()
    if len(letters) == 1:
        return "One letter: its own state is the last state. Read on."
    least = int(share.argmin())
    return (
        f"The least is left of letter {least}, “{letters[least]}”: change it, and the last state "
        f"moves by {share[least].item():.2%} of what its own state moves by, "
        f"{own[least].item():.4f}. A decoder with attention can read that state; one without has "
        "only the last."
    )


def recurrent_code(settings: Settings) -> list[str]:
    """Return the lines of Python that compute the same shares."""
    d, half, letters = settings["d"], _half(settings), settings["word"].lower()[: settings["read"]]
    return [
        "import torch",
        "from chapter3_helpers.recurrent import EncoderDecoder",
        "from chapter3_helpers.training.toy_language import tokenize",
        "",
        f"torch.manual_seed({settings['seed']})",
        f"model = EncoderDecoder({d}).requires_grad_(False)",
        "for bias in (model.encoder.bias_ih_l0, model.encoder.bias_ih_l0_reverse):",
        f"    bias[{d // 2}:{d}] += {settings['keep']}  # of the update gate",
        f"word, identity = tokenize({letters!r}), torch.eye({len(letters)}, dtype=torch.long)",
        "states, last = model.encode(torch.cat([word, (word + identity) % 26]))",
        f"moved = (states[1:] - states[0])[..., {half.start}:{half.stop}].norm(dim=-1)",
        f"left = (last[1:] - last[0])[:, {half.start}:{half.stop}].norm(dim=-1)",
        "share = left / moved.diagonal()",
    ]


recurrent_explorer = explorer_function(
    "one hidden state", CONTROLS, recurrent_panels, recurrent_code
)
