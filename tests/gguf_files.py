"""Makes small models, a tokenizer, and GGUF files, as people have them."""

from collections.abc import Mapping
from pathlib import Path

import gguf
import numpy as np
import torch
from gguf import GGMLQuantizationType as Type
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from chapter3_helpers.real_model import Llama

IN_A_BLOCK = {  # what a layer of a block is called in a file
    "norm1": "attn_norm",
    "attention.W_query": "attn_q",
    "attention.W_key": "attn_k",
    "attention.W_value": "attn_v",
    "attention.out_proj": "attn_output",
    "norm2": "ffn_norm",
    "feed_forward.gate": "ffn_gate",
    "feed_forward.up": "ffn_up",
    "feed_forward.down": "ffn_down",
}
AT_THE_ENDS = {"embedding": "token_embd", "norm": "output_norm", "output": "output"}


def settings_of(model: Llama) -> dict:
    """Return the settings of a file that holds such a model."""
    attention, block = model.blocks[0].attention, model.blocks[0]
    return {
        "general.architecture": "llama",
        "llama.vocab_size": model.embedding.num_embeddings,
        "llama.embedding_length": model.embedding.embedding_dim,
        "llama.block_count": len(model.blocks),
        "llama.attention.head_count": attention.num_heads,
        "llama.attention.head_count_kv": attention.num_kv_heads,
        "llama.feed_forward_length": block.feed_forward.up.out_features,
        "llama.context_length": model.context_length,
        "llama.rope.freq_base": float(attention.theta),
        "llama.attention.layer_norm_rms_epsilon": float(block.norm1.eps),
        "llama.rope.dimension_count": attention.head_dim,
    }


def tensors_of(model: Llama) -> dict[str, np.ndarray]:
    """Return the tensors of such a file, in float32; a table for both ends stands in it once."""
    tensors = {}
    for name, parameter in model.named_parameters():
        layer = name.removesuffix(".weight")
        if layer.startswith("blocks."):
            _, number, layer = layer.split(".", 2)
            theirs = f"blk.{number}.{IN_A_BLOCK[layer]}.weight"
        else:
            theirs = f"{AT_THE_ENDS[layer]}.weight"
        tensors[theirs] = parameter.detach().float().numpy()
    return tensors


def write_gguf(
    path: Path,
    settings: Mapping,
    tensors: Mapping[str, np.ndarray],
    types: Mapping[str, Type] | None = None,
) -> Path:
    """Write settings and tensors, each tensor in the type that ``types`` says of it, or as it is.

    What is in a type of more numbers a byte already is written as it is.
    """
    settings = dict(settings)
    writer = gguf.GGUFWriter(path, settings.pop("general.architecture"))
    add = {
        **{bool: writer.add_bool, int: writer.add_uint32, float: writer.add_float32},
        **{str: writer.add_string, list: writer.add_array},
    }
    for name, value in settings.items():
        add[type(value)](name, value)
    for name, numbers in tensors.items():
        kind = (types or {}).get(name)
        if kind is None or numbers.dtype == np.uint8:
            writer.add_tensor(name, numbers, raw_dtype=kind)
        else:
            writer.add_tensor(name, gguf.quantize(numbers, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def random_llama(**sizes) -> Llama:
    """Return a small model, its numbers so large that every part is seen in the logits."""
    settings = {
        **{"vocab_size": 53, "d": 24, "num_layers": 2, "num_heads": 6, "num_kv_heads": 2},
        **{"hidden": 37, "context_length": 41, "theta": 700.0, "eps": 0.01},
    }
    with torch.random.fork_rng():
        torch.manual_seed(5)
        model = Llama(**settings | sizes).eval().requires_grad_(False)
        d = model.embedding.embedding_dim
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=1.5 / d**0.5)
    return model


def byte_tokenizer() -> Tokenizer:
    """Make a tokenizer with one token for each byte."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: i for i, letter in enumerate(letters)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer
