"""Is it the real thing? GPT-2's published files, read into the classes of this series.

A GPT-2 is the ``GPT`` of ``transformer_block`` with four differences: its queries, keys and values
have a bias, its feed-forward networks have a GELU in place of the ReLU, its output layer is the
embedding table once more, and its files hold matrices transposed, queries, keys and values side by
side. Nothing is downloaded. Taught in ``15_real_model``.

Source: Radford et al., 2019, and the files that were published with it.
"""

import re
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

from chapter3_helpers.fused_multihead import MultiHeadAttention
from chapter3_helpers.model_files import Config, fill, read_config, read_weights
from chapter3_helpers.model_files import read_tokenizer as read_tokenizer  # for whoever loads one
from chapter3_helpers.transformer_block import GPT, FeedForward

# Settings that change numbers, with the values that the classes below compute: the first is usual.
SETTINGS = {
    "activation_function": ("gelu_new", "gelu_pytorch_tanh"),  # two names of one function
    "scale_attn_weights": (True,),
    "scale_attn_by_inverse_layer_idx": (False,),
    "add_cross_attention": (False,),
}
NAMES = {  # what layers are called here, and in the file
    "embedding": "wte",
    "positions": "wpe",
    "blocks.{}.norm1": "h.{}.ln_1",
    "blocks.{}.attention.W_query": "h.{}.attn.c_attn.queries",  # one matrix in the file
    "blocks.{}.attention.W_key": "h.{}.attn.c_attn.keys",
    "blocks.{}.attention.W_value": "h.{}.attn.c_attn.values",
    "blocks.{}.attention.out_proj": "h.{}.attn.c_proj",
    "blocks.{}.norm2": "h.{}.ln_2",
    "blocks.{}.feed_forward.up": "h.{}.mlp.c_fc",
    "blocks.{}.feed_forward.down": "h.{}.mlp.c_proj",
    "norm": "ln_f",
    "output": "lm_head",
}
MASKS = r"h\.\d+\.attn\.(masked_)?bias"  # published files hold them


class GeluFeedForward(FeedForward):
    """GPT-2's feed-forward network: a GELU, in its approximation by tanh, in place of the ReLU."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map tokens (..., T, d) to tokens (..., T, d), each by itself."""
        x = functional.gelu(self.up(x), approximate="tanh")  # (..., T, hidden)
        return self.down(x)  # (..., T, d)


def load_gpt2(folder: str | Path) -> GPT:
    """Read a GPT-2 from a folder that holds its ``config.json`` and its ``model.safetensors``.

    The files may be as published (openai-community/gpt2 on Hugging Face) or as ``save_pretrained``
    of ``transformers`` writes them, in one file or several, with any sizes. The model has the
    numbers of the files, the dtype that ``transformers`` gives it, no dropout, and is in evaluation
    mode.

    Args:
        folder: where the files are.

    Raises:
        ImportError: the package ``safetensors`` is not installed.
        FileNotFoundError: a file is missing.
        ValueError: the files are damaged, do not belong together or hold another architecture.
    """
    config = read_config(folder)
    model, stored = _empty_model(config), _lay_out(read_weights(folder, config))
    tied = bool(config.one_of("tie_word_embeddings", (True, False), True))
    fill(model, stored, NAMES, Path(folder), tied)
    return model


def _lay_out(stored: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return what a file holds as ``nn.Linear`` has it: matrices (out, in), one for each layer."""
    layers = {}
    for name, tensor in stored.items():
        name = name.removeprefix("transformer.")
        if re.fullmatch(MASKS, name):
            continue
        if ".c_" in name and tensor.ndim == 2:
            tensor = tensor.T.contiguous()  # (in, out) -> (out, in)
        if ".c_attn." in name and tensor.ndim > 0:
            for part, rows in zip(("queries", "keys", "values"), tensor.chunk(3), strict=False):
                layers[name.replace("c_attn", f"c_attn.{part}")] = rows
        else:
            layers[name] = tensor
    return layers


def _empty_model(config: Config) -> GPT:
    """Return a GPT with the differences of GPT-2, without any numbers yet."""
    config.one_of("model_type", ("gpt2",))
    for name, values in SETTINGS.items():
        config.one_of(name, values, default=values[0])
    d, num_heads = config.whole("n_embd"), config.whole("n_head")
    context_length, hidden = config.whole("n_positions"), config.whole("n_inner", 4 * d)
    vocab_size, num_layers = config.whole("vocab_size"), config.whole("n_layer")
    with config.empty_model():
        model = GPT(vocab_size, d, context_length, num_layers=num_layers, num_heads=num_heads)
        for block in model.blocks:
            block.attention = MultiHeadAttention(
                d, d, context_length, dropout=0.0, num_heads=num_heads, qkv_bias=True
            )
            block.feed_forward = GeluFeedForward(d, hidden)
    for module in model.modules():
        if isinstance(module, nn.LayerNorm):
            module.eps = config.number("layer_norm_epsilon")
    return model
