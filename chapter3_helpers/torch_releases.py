"""Questions to PyTorch that its older releases can't answer.

Used by ``onednn_linear``, ``grouped_query`` and ``benchmarks``.
"""

from typing import Any

import torch


def is_exporting() -> bool:
    """Say whether ``torch.export`` is at work; False where PyTorch can't tell."""
    return getattr(torch.compiler, "is_exporting", bool)()


def cpu_capabilities() -> dict[str, Any]:
    """Say what the CPU is called and can do, by name; {} where PyTorch can't (before 2.11)."""
    return getattr(torch.cpu, "get_capabilities", dict)()


def cpu_name() -> str:
    """Return what the CPU calls itself, or '' where PyTorch can't tell."""
    return cpu_capabilities().get("cpu_name", "")
