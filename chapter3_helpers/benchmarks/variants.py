"""The implementations that are compared: one function, one set of weights, many ways.

Taught in ``12_performance``.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import nn

from chapter3_helpers.copy_weights import copy_weights
from chapter3_helpers.fused_multihead import (
    FusedMultiHeadAttention,
    MultiHeadAttention,
    join_heads,
)
from chapter3_helpers.masking import causal_mask
from chapter3_helpers.multihead_wrapper import MultiHeadAttentionWrapper
from chapter3_helpers.performance import Sizes
from chapter3_helpers.softmax import softmax


@dataclass(frozen=True)
class Variant:
    """One way to compute attention.

    Args:
        name: what the table calls it.
        call: tokens (B, T, d) -> context vectors (B, T, d).
        module: whose parameters get gradients.
        stored: the square matrices (B, H, T, T) it holds at one moment, to keep it from filling
            the memory: measured forward; twice as many with backward.
        backward: whether it can compute gradients.
    """

    name: str
    call: Callable[[torch.Tensor], torch.Tensor]
    module: nn.Module
    stored: float = 0.0
    backward: bool = True


class WrapperWithOutput(nn.Module):
    """Separate heads one after another, and an ``out_proj`` so that they equal the others."""

    def __init__(self, split: MultiHeadAttention):
        super().__init__()
        self.heads = MultiHeadAttentionWrapper(
            split.d_in, split.head_dim, split.context_length, 0.0, split.num_heads
        )
        self.out_proj = nn.Linear(split.d_out, split.d_out)
        headless = MultiHeadAttention(
            split.d_in, split.d_out, split.context_length, 0.0, split.num_heads
        )
        copy_weights(split, headless)
        with torch.no_grad():  # the wrapper itself has no place for an out_proj
            headless.out_proj.weight.copy_(torch.eye(split.d_out))
            headless.out_proj.bias.zero_()
        copy_weights(headless, self.heads)
        self.out_proj.load_state_dict(split.out_proj.state_dict())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map tokens (B, T, d) to context vectors (B, T, d)."""
        return self.out_proj(self.heads(x))


class PackedMultiHeadAttention(FusedMultiHeadAttention):
    """One packed projection as in ``FusedMultiHeadAttention``, but the softmax written out."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map tokens (B, T, d) to context vectors (B, T, d)."""
        queries, keys, values = self._project(x)
        scores = queries @ keys.transpose(-2, -1)  # (B, H, T, T)
        scores = scores.masked_fill(causal_mask(x.shape[-2], x.device), -torch.inf)
        return self.out_proj(join_heads(softmax(scores / self.head_dim**0.5, dim=-1) @ values))


@torch.random.fork_rng(devices=[])
def make_variants(sizes: Sizes, device: torch.device | str = "cpu") -> list[Variant]:
    """Make every variant with the weights of one ``MultiHeadAttention``."""
    d, T, H = sizes.width, sizes.tokens, sizes.heads
    split = shared_weights(sizes).eval()
    fused = FusedMultiHeadAttention(d, d, T, 0.0, H).eval()
    packed, kernel = (
        cls(d, d, T, 0.0, H).eval() for cls in (PackedMultiHeadAttention, FusedMultiHeadAttention)
    )
    pytorchs = nn.MultiheadAttention(d, H, batch_first=True)  # train(): its faster path here
    for module in (fused, packed, kernel, pytorchs):
        copy_weights(split, module)
    wrapper = WrapperWithOutput(split)
    for module in (split, fused, packed, kernel, pytorchs, wrapper):
        module.to(device)
    hidden = causal_mask(T, device)

    def pytorch(x: torch.Tensor, need_weights: bool) -> torch.Tensor:
        options = {"attn_mask": hidden, "is_causal": True, "need_weights": need_weights}
        return pytorchs(x, x, x, **options)[0]

    return [
        Variant("wrapper", wrapper, wrapper, stored=4 / H),
        Variant("split", split, split, stored=4),
        Variant("packed", packed, packed, stored=4),
        Variant("kernel", kernel, kernel),
        Variant("fused", fused, fused),
        Variant("torch", lambda x: pytorch(x, False), pytorchs),
        Variant("torch+weights", lambda x: pytorch(x, True), pytorchs, stored=4),
    ]


@torch.random.fork_rng(devices=[])
def flex_attention_variant(
    sizes: Sizes, device: torch.device | str = "cpu"
) -> tuple[Variant | None, str]:
    """Make the variant on torch's FlexAttention, which has to be compiled first.

    Returns:
        The variant and an empty string, or None and the reason why it does not run here.
    """
    d, T, H = sizes.width, sizes.tokens, sizes.heads
    try:
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention

        fused = FusedMultiHeadAttention(d, d, T, 0.0, H).eval()
        copy_weights(shared_weights(sizes), fused)
        fused.to(device)
        compiled = torch.compile(flex_attention)
        blocks = create_block_mask(
            lambda b, h, query, key: query >= key, None, None, T, T, device=str(device)
        )

        def call(x: torch.Tensor) -> torch.Tensor:
            queries, keys, values = fused._project(x)
            return fused.out_proj(join_heads(compiled(queries, keys, values, block_mask=blocks)))

        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            call(torch.zeros(sizes.batch, T, d, device=device))
    except Exception as error:  # a missing compiler, an unsupported size, a compiler's own error
        words = (str(error).strip().splitlines() or [""])[0]
        return None, f"{type(error).__name__}: {words[:100]}"
    on_gpu = torch.device(device).type == "cuda"
    return Variant("flex", call, fused, backward=on_gpu), ""


@torch.random.fork_rng(devices=[])
def shared_weights(sizes: Sizes) -> MultiHeadAttention:
    """Return the module whose weights all variants share; no caller's random numbers change."""
    torch.default_generator.manual_seed(123)  # torch.manual_seed would seed a GPU's as well
    d = sizes.width
    return MultiHeadAttention(d, d, sizes.tokens, 0.0, sizes.heads)


def find_wrong(
    variants: Sequence[Variant], x: torch.Tensor, tolerance: float = 1e-4
) -> dict[str, float]:
    """Compare every variant with the first one; return the largest difference of those that differ.

    >>> one = Variant("one", lambda x: x, nn.Identity())
    >>> two = Variant("two", lambda x: x + 1, nn.Identity())
    >>> find_wrong([one, two, one], torch.zeros(1, 2, 3))
    {'two': 1.0}
    """
    wrong = {}
    with torch.no_grad():
        expected = variants[0].call(x) if variants else None
        for variant in variants[1:]:
            difference = (variant.call(x) - expected).abs().max().item()
            if not difference <= tolerance:  # NaN is wrong too
                wrong[variant.name] = difference
    return wrong


def with_gradient(variant: Variant) -> Variant:
    """Return a variant that maps x to the gradient of its sum with respect to x, to be compared.

    >>> square = Variant("square", lambda x: x**2, nn.Identity())
    >>> with_gradient(square).call(torch.tensor([3.0, -1.0]))
    tensor([ 6., -2.])
    """

    def call(x: torch.Tensor) -> torch.Tensor:
        with torch.enable_grad():
            y = x.detach().requires_grad_()
            return torch.autograd.grad(variant.call(y).sum(), y)[0]

    return replace(variant, call=call)
