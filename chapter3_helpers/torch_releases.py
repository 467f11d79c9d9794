"""Questions to PyTorch that its older releases can't answer.

Used by ``onednn_linear``, ``grouped_query`` and ``benchmarks``.
"""

import torch


def is_exporting() -> bool:
    """Say whether ``torch.export`` is at work; False where PyTorch can't tell."""
    return getattr(torch.compiler, "is_exporting", bool)()


def cpu_name() -> str:
    """Return what the CPU calls itself, or '' where PyTorch can't tell (before 2.11)."""
    capabilities = getattr(torch.cpu, "get_capabilities", dict)()
    return capabilities.get("cpu_name", "")
