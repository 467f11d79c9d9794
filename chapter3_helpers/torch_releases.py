"""A question to PyTorch that its older releases can't answer."""

import torch


def is_exporting() -> bool:
    """Say whether ``torch.export`` is at work; False where PyTorch can't tell."""
    return getattr(torch.compiler, "is_exporting", bool)()
