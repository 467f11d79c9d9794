"""The exercises of ``02_softmax``."""

import torch

from chapter3_helpers.exercises import Exercise

SCORES = torch.tensor([[2.0, 1.0, 0.5], [-1.0, 3.0, 0.0]])

TEMPERATURE = Exercise(
    name="2.1",
    solution=lambda scores, temperature: torch.softmax(scores / temperature, dim=-1),
    cases=((SCORES, 0.5), (SCORES, 4.0)),
    misconceptions={
        "Here a higher temperature sharpens the weights. Divide by it, do not multiply.": (
            lambda scores, temperature: torch.softmax(scores * temperature, dim=-1)
        ),
    },
)
