"""Is it the real thing? GPT-2's published files, read into the classes of this series.

A GPT-2 is the ``GPT`` of ``transformer_block`` with four differences: its queries, keys and values
have a bias, its feed-forward networks have a GELU in place of the ReLU, its output layer is the
embedding table once more, and its files hold matrices transposed, queries, keys and values side by
side. Nothing is downloaded. Taught in ``10_induction_heads``.

Source: Radford et al., 2019, and the files that were published with it.
"""

import json
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional

from chapter3_helpers.fused_multihead import MultiHeadAttention
from chapter3_helpers.transformer_block import GPT, FeedForward

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SIZES = ("vocab_size", "n_embd", "n_positions", "n_layer", "n_head", "layer_norm_epsilon")
# Settings that change numbers, with the values that the classes below compute.
SETTINGS = {
    "model_type": ("gpt2",),
    "activation_function": ("gelu_new", "gelu_pytorch_tanh"),  # two names of one function
    "scale_attn_weights": (True,),
    "scale_attn_by_inverse_layer_idx": (False,),
    "add_cross_attention": (False,),
}
# What a block's layers are called in the file, and here.
BLOCK = {
    "ln_1": ("norm1",),
    "attn.c_attn": ("attention.W_query", "attention.W_key", "attention.W_value"),
    "attn.c_proj": ("attention.out_proj",),
    "ln_2": ("norm2",),
    "mlp.c_fc": ("feed_forward.up",),
    "mlp.c_proj": ("feed_forward.down",),
}
# Causal masks, which published files hold, and an output layer that is the embedding once more.
PASSED_OVER = r"h\.\d+\.attn\.(masked_)?bias|lm_head\.weight"


class GeluFeedForward(FeedForward):
    """GPT-2's feed-forward network: a GELU, in its approximation by tanh, in place of the ReLU."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map tokens (..., T, d) to tokens (..., T, d), each by itself."""
        x = functional.gelu(self.up(x), approximate="tanh")  # (..., T, hidden)
        return self.down(x)  # (..., T, d)


def load_gpt2(folder: str | Path) -> GPT:
    """Read a GPT-2 from a folder that holds its ``config.json`` and its ``model.safetensors``.

    The files may be as published or as ``save_pretrained`` of ``transformers`` writes them, with
    any sizes. The model has the numbers and the dtype of the file, no dropout, and is in
    evaluation mode.

    Args:
        folder: where the two files are.

    Raises:
        ImportError: the package ``safetensors`` is not installed.
        FileNotFoundError: a file is missing.
        ValueError: the files are damaged, do not belong together or hold another architecture.
    """
    load_file = _package("safetensors.torch").load_file
    folder = Path(folder)
    config = _read_config(_file(folder, "config.json"))
    path = _file(folder, "model.safetensors")
    try:
        stored = load_file(path)
    except _package("safetensors").SafetensorError as error:
        raise ValueError(
            f"{path} is damaged or not a safetensors file ({error}). Copy it again. If it is a "
            "text of a few lines, git has copied a pointer in its place: run git lfs pull"
        ) from error
    stored = {name.removeprefix("transformer."): tensor for name, tensor in stored.items()}

    model = _empty_model(config)
    shapes = {name: tensor.shape for name, tensor in model.state_dict().items()}
    own = stored.get("lm_head.weight")  # some files hold the embedding once more, some another
    tied = config.get("tie_word_embeddings", True) and (
        own is None or own.equal(stored.get("wte.weight", own))
    )
    weights = {}
    for name, places in _places(config["n_layer"], tied).items():
        if name not in stored:
            raise ValueError(f"{path} must hold {name} for the model of config.json, got none")
        parts = stored.pop(name).chunk(len(places), dim=-1)
        for part, place in zip(parts, places, strict=False):
            if ".c_" in name and part.ndim == 2:
                part = part.T.contiguous()  # stored (in, out), and nn.Linear has (out, in)
            if part.shape != shapes[place]:
                raise ValueError(
                    f"{path} must hold {name} for the sizes in config.json, which make "
                    f"{tuple(shapes[place])} of {place}, got {tuple(part.shape)}. Take both "
                    "files from one model"
                )
            weights[place] = part
    if tied:
        weights["output.weight"] = weights["embedding.weight"]
    left = sorted(name for name in stored if not re.fullmatch(PASSED_OVER, name))
    if left:
        raise ValueError(
            f"{path} must hold a language model of {config['n_layer']} layers, as config.json "
            f"says, and nothing else, got {left[0]} as well. Take both files from one model"
        )
    model.load_state_dict(weights, assign=True)
    if tied:
        model.output.weight = model.embedding.weight  # one parameter for both
    return model.eval()


def read_tokenizer(folder: str | Path) -> "Tokenizer":
    """Read what cuts texts into tokens, from the ``tokenizer.json`` in a folder.

    ``read_tokenizer(folder).encode("some text").ids`` are the token ids of a text, ``.tokens``
    their names.

    Args:
        folder: where the file is.

    Raises:
        ImportError: the package ``tokenizers`` is not installed.
        FileNotFoundError: the file is missing.
        ValueError: the file is damaged.
    """
    tokenizer = _package("tokenizers").Tokenizer
    path = _file(Path(folder), "tokenizer.json")
    try:
        return tokenizer.from_file(str(path))
    except Exception as error:  # the package raises nothing more special
        raise ValueError(f"{path} is damaged ({error}). Copy it again") from error


def _places(num_layers: int, tied: bool) -> dict[str, tuple[str, ...]]:
    """Return, for each name in the file, where the tensor goes in a GPT, or where its parts go."""
    places = {"wte.weight": ("embedding.weight",), "wpe.weight": ("positions.weight",)}
    modules = {"ln_f": ("norm",)}
    for i in range(num_layers):
        modules |= {
            f"h.{i}.{theirs}": tuple(f"blocks.{i}.{name}" for name in ours)
            for theirs, ours in BLOCK.items()
        }
    for theirs, ours in modules.items():
        for kind in ("weight", "bias"):
            places[f"{theirs}.{kind}"] = tuple(f"{name}.{kind}" for name in ours)
    return places if tied else places | {"lm_head.weight": ("output.weight",)}


def _empty_model(config: dict) -> GPT:
    """Return a GPT with the differences of GPT-2, without any numbers yet."""
    d, context_length, num_heads = config["n_embd"], config["n_positions"], config["n_head"]
    with torch.device("meta"):  # takes no memory: all tensors come from the file
        model = GPT(config["vocab_size"], d, context_length, config["n_layer"], num_heads)
        for block in model.blocks:
            block.attention = MultiHeadAttention(
                d, d, context_length, 0.0, num_heads, qkv_bias=True
            )
            block.feed_forward = GeluFeedForward(d, config.get("n_inner"))
    for module in model.modules():
        if isinstance(module, nn.LayerNorm):
            module.eps = config["layer_norm_epsilon"]
    return model


def _read_config(path: Path) -> dict:
    try:
        config = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is damaged ({error}). Copy it again") from error
    config = config if isinstance(config, dict) else {}
    for name, values in SETTINGS.items():
        value = config.get(name, None if name == "model_type" else values[0])
        if value not in values:
            raise ValueError(
                f"{path} must say {name} = {values[0]!r}, got {value!r}: these classes compute "
                "only a GPT-2 as it was published"
            )
    for name in SIZES:
        if not isinstance(config.get(name), int | float):
            raise ValueError(f"{path} must say {name}, a number, got {config.get(name)!r}")
    return config


def _package(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError as error:
        package = name.split(".")[0]
        raise ImportError(
            f"reading GPT-2's files takes the package {package}: pip install {package}"
        ) from error


def _file(folder: Path, name: str) -> Path:
    path = folder / name
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no {path}. A folder with a GPT-2 holds config.json and model.safetensors, "
            "and tokenizer.json for its tokenizer; openai-community/gpt2 on Hugging Face has all "
            "three. Nothing is downloaded for you"
        )
    return path
