"""How fast a Llama writes: beside its linear layers, reading its numbers, and ``transformers``."""

import statistics
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch
from torch import nn
from tqdm.auto import tqdm

from chapter3_helpers.benchmarks.machine import in_turn
from chapter3_helpers.real_model import NAMES, Llama


@torch.inference_mode()
def measure_writing(
    model: Llama,
    lengths: Sequence[int] = (10, 300),
    threads: Sequence[int] = (1, 2),
    seconds: float = 5.0,
) -> list[dict[str, Any]]:
    """Time the first token after a prompt, and one more token with the caches.

    Beside the model stand its linear layers alone, a product of a vector with a matrix of as many
    numbers (each is read once, as for a token), and ``transformers`` with the same numbers.

    Args:
        model: the model, on a CPU.
        lengths: of prompts, in tokens.
        threads: numbers of threads, each measured by itself.
        seconds: for each row, at least.

    Returns:
        A row for each number of threads and each prompt: the median seconds of the ``first`` token
        and of the ``next`` one, by name.
    """
    others = _in_transformers(model)
    layers = [(m, torch.ones(m.in_features)) for m in model.modules() if isinstance(m, nn.Linear)]
    vector = torch.ones(model.embedding.embedding_dim)
    numbers = sum(parameter.numel() for parameter in model.parameters())
    matrix = torch.ones(numbers // len(vector), len(vector))
    alone = {
        "linear layers": lambda: [layer(x) for layer, x in layers],
        "limit": lambda: matrix @ vector,
    }
    rows, before = [], torch.get_num_threads()
    try:
        for count, T in tqdm([(count, T) for count in threads for T in lengths], desc="writing"):
            torch.set_num_threads(count)
            ids = torch.arange(T + 1)[None] % model.embedding.num_embeddings
            here = _calls(model, ids)
            there = {name: _their_calls(module, ids) for name, module in others.items()}
            row = {"threads": count, "tokens": T}
            for part, products in (("first", {}), ("next", alone)):
                calls = {"here": here[part], **products}
                calls |= {name: their[part] for name, their in there.items()}
                times = in_turn(calls, seconds, f"{count} threads, {T} tokens, {part}")
                row[part] = {name: statistics.median(values) for name, values in times.items()}
            rows.append(row)
    finally:
        torch.set_num_threads(before)
    return rows


def _calls(model: Llama, ids: torch.Tensor) -> dict[str, Callable[[], torch.Tensor]]:
    """Return the calls that are timed: all ids but the last one, and the last one behind them."""
    caches = model.new_caches()
    model.next_logits(ids[:, :-1], caches)

    def next_token() -> torch.Tensor:
        logits = model.next_logits(ids[:, -1:], caches)
        for cache in caches:
            cache.truncate(ids.shape[1] - 1)  # forgets it again
        return logits

    return {"first": lambda: model.next_logits(ids[:, :-1], model.new_caches()), "next": next_token}


def _their_calls(module: nn.Module, ids: torch.Tensor) -> dict[str, Callable[[], torch.Tensor]]:
    def prompt() -> Any:
        return module(ids[:, :-1], use_cache=True, logits_to_keep=1)

    cache = prompt().past_key_values

    def next_token() -> torch.Tensor:
        logits = module(ids[:, -1:], past_key_values=cache, logits_to_keep=1).logits
        cache.crop(-1)  # forgets it again
        return logits[:, -1]

    return {"first": lambda: prompt().logits[:, -1], "next": next_token}


def _in_transformers(model: Llama) -> dict[str, nn.Module]:
    """Return the model with two kinds of attention of ``transformers``, where it is installed."""
    if find_spec("transformers") is None:
        return {}
    transformers = import_module("transformers")
    block = model.blocks[0]
    heads = block.attention
    ours, theirs = model.state_dict(), {}
    for name, _, other in NAMES:
        for i in range(len(model.blocks)):
            weight = ours[f"{name.format(i)}.weight"]
            if name.endswith(("W_query", "W_key")):  # pairs of neighbours become halves again
                pairs = weight.unflatten(0, (-1, heads.head_dim // 2, 2))
                weight = pairs.transpose(1, 2).reshape(weight.shape)
            theirs[f"{other.format(i)}.weight"] = weight
    modules = {}
    for kind in ("eager", "sdpa"):
        config = transformers.LlamaConfig(
            vocab_size=model.embedding.num_embeddings,
            hidden_size=model.embedding.embedding_dim,
            intermediate_size=block.feed_forward.up.out_features,
            num_hidden_layers=len(model.blocks),
            num_attention_heads=heads.num_heads,
            num_key_value_heads=heads.num_kv_heads,
            max_position_embeddings=model.context_length,
            rms_norm_eps=block.norm1.eps,
            rope_parameters={"rope_theta": heads.theta, "rope_type": "default"},
            attn_implementation=kind,
        )
        with torch.device("meta"):  # all numbers are those of the model
            module = transformers.LlamaForCausalLM(config)
        module.load_state_dict(theirs, assign=True)
        module.model.rotary_emb = type(module.model.rotary_emb)(config)
        modules[kind] = module.eval()
    return modules
