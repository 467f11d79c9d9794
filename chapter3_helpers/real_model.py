"""Is what I built a language model? A Llama from the classes of this series.

A Llama is the ``GPT`` of ``transformer_block`` with five differences: a simpler norm, a gate in the
feed-forward network, turned queries and keys in place of added positions, shared keys and values,
and no biases. Its numbers come from a published file.

    python -m chapter3_helpers.real_model "What is the capital of France?"

Source: Touvron et al., "LLaMA" (2023); Allal et al., "SmolLM2" (2025). Taught in ``15_real_model``.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional

from chapter3_helpers.grouped_query import GroupedQueryAttention, LayerCache
from chapter3_helpers.model_files import (
    GGUF_TOKENS,
    Config,
    fill,
    given_path,
    model_path,
    read_config,
    read_gguf,
    read_tokenizer,
    read_weights,
)

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# Of a turn in a chat, of a text; then the same of Llama 3, and of a text of Llama 1 and 2.
END = ("<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>", "</s>")
# Settings of a GGUF file that are obeyed or compared below; any other one that begins in this way
# changes numbers.
GGUF_SETTINGS = {
    "llama.attention.head_count",
    "llama.attention.head_count_kv",
    "llama.attention.key_length",
    "llama.attention.layer_norm_rms_epsilon",
    "llama.attention.value_length",
    "llama.block_count",
    "llama.context_length",
    "llama.embedding_length",
    "llama.feed_forward_length",
    "llama.rope.dimension_count",
    "llama.rope.freq_base",
    "llama.rope.scaling.type",
    "llama.vocab_size",
}
# Settings of a config.json that change numbers, with the values that ask for what is computed here.
FOLDER_SETTINGS = {
    "hidden_act": ("silu", "swish"),  # two names of one function
    "attention_bias": (False,),
    "mlp_bias": (False,),
    "quantization_config": (None,),
    "sliding_window": (None,),
    "partial_rotary_factor": (None, 1.0),
    "rope_interleaved": (None, False),
}
SPEEDS = ".rotary_emb.inv_freq"  # of the turns: files of 2023 hold them; they follow from theta
# What a layer is called here, in a GGUF file, and in the files of transformers.
NAMES = (
    ("embedding", "token_embd", "model.embed_tokens"),
    ("blocks.{}.norm1", "blk.{}.attn_norm", "model.layers.{}.input_layernorm"),
    ("blocks.{}.attention.W_query", "blk.{}.attn_q", "model.layers.{}.self_attn.q_proj"),
    ("blocks.{}.attention.W_key", "blk.{}.attn_k", "model.layers.{}.self_attn.k_proj"),
    ("blocks.{}.attention.W_value", "blk.{}.attn_v", "model.layers.{}.self_attn.v_proj"),
    ("blocks.{}.attention.out_proj", "blk.{}.attn_output", "model.layers.{}.self_attn.o_proj"),
    ("blocks.{}.norm2", "blk.{}.ffn_norm", "model.layers.{}.post_attention_layernorm"),
    ("blocks.{}.feed_forward.gate", "blk.{}.ffn_gate", "model.layers.{}.mlp.gate_proj"),
    ("blocks.{}.feed_forward.up", "blk.{}.ffn_up", "model.layers.{}.mlp.up_proj"),
    ("blocks.{}.feed_forward.down", "blk.{}.ffn_down", "model.layers.{}.mlp.down_proj"),
    ("norm", "output_norm", "model.norm"),
    ("output", "output", "lm_head"),
)


class RMSNorm(nn.Module):
    """Divide each token by the root of its mean square, then scale each place.

    New compared with ``nn.LayerNorm``: no mean is subtracted, and nothing is added at the end.

    Args:
        d: numbers per token.
        eps: added to the mean square, so that a token of zeros is not divided by 0.

    >>> RMSNorm(2)(torch.tensor([3.0, 4.0]))  # divided by sqrt((9 + 16) / 2)
    tensor([0.8485, 1.1314], grad_fn=<MulBackward0>)

    Source: Zhang and Sennrich, "Root Mean Square Layer Normalization" (2019).
    """

    def __init__(self, d: int, eps: float = 1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map tokens (..., d) to tokens (..., d), each by itself."""
        floats = x.float()  # squares of half precision could be too large for it
        mean_square = floats.pow(2).mean(dim=-1, keepdim=True)  # (..., 1)
        return (floats * torch.rsqrt(mean_square + self.eps)).to(x.dtype) * self.weight


class GatedFeedForward(nn.Module):
    """A feed-forward network in which one matrix decides how much of another one passes.

    New compared with ``FeedForward``: two matrices read the token side by side. What the first
    gives goes through SiLU, z * sigmoid(z), and is multiplied by what the second gives.

    ::

        x (..., T, d) --gate--> SiLU --(*)--down--> (..., T, d)
                      --up--------------+

    Args:
        d: numbers per token, in and out.
        hidden: numbers per token in between.

    >>> feed_forward = GatedFeedForward(d=2, hidden=3)
    >>> feed_forward(torch.zeros(5, 2)).shape
    torch.Size([5, 2])

    Source: Shazeer, "GLU Variants Improve Transformer" (2020).
    """

    def __init__(self, d: int, hidden: int):
        super().__init__()
        self.gate = nn.Linear(d, hidden, bias=False)
        self.up = nn.Linear(d, hidden, bias=False)
        self.down = nn.Linear(hidden, d, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map tokens (..., T, d) to tokens (..., T, d), each by itself."""
        return self.down(functional.silu(self.gate(x)) * self.up(x))


class LlamaBlock(nn.Module):
    """Attention and a gated feed-forward network, each on normalised tokens and with a residual.

    New compared with ``TransformerBlock``: ``RMSNorm``, ``GroupedQueryAttention`` without a bias,
    ``GatedFeedForward``, and a cache that attention adds to.

    Args:
        d: numbers per token, in and out.
        num_heads: the number of query heads, which divides ``d``.
        num_kv_heads: the number of key/value heads, which divides ``num_heads``.
        hidden: numbers per token inside the feed-forward network.
        context_length: the most tokens a text may have, cached ones included.
        theta: the base of the rotary angles.
        eps: added to the mean square in each norm.

    >>> block = LlamaBlock(d=12, num_heads=6, num_kv_heads=2, hidden=16, context_length=5)
    >>> block(torch.zeros(4, 12)).shape
    torch.Size([4, 12])

    Source: Touvron et al., "LLaMA" (2023).
    """

    def __init__(
        self,
        d: int,
        num_heads: int,
        num_kv_heads: int,
        hidden: int,
        context_length: int,
        theta: float = 10000.0,
        eps: float = 1e-5,
    ):
        super().__init__()
        self.norm1 = RMSNorm(d, eps)
        self.attention = GroupedQueryAttention(d, num_heads, num_kv_heads, context_length, theta)
        self.attention.out_proj = nn.Linear(d, d, bias=False)  # a Llama has no biases
        self.norm2 = RMSNorm(d, eps)
        self.feed_forward = GatedFeedForward(d, hidden)

    def forward(self, x: torch.Tensor, cache: LayerCache | None = None) -> torch.Tensor:
        """Map tokens (..., T, d) to tokens (..., T, d)."""
        x = x + self.attention(self.norm1(x), cache)  # (..., T, d)
        return x + self.feed_forward(self.norm2(x))


class Llama(nn.Module):
    """A language model as most are built today: embedding, N blocks, norm, output.

    New compared with ``GPT``: no positions are added, since attention turns queries and keys; the
    output layer can be the embedding table once more; and each block can have a cache.

    ::

        ids (..., T) --embedding--> (..., T, d) --> N blocks --> norm
            --> output --> logits (..., T, vocab_size)

    Args:
        vocab_size: how many tokens there are to choose from.
        d: numbers per token, in every layer.
        num_layers: how many blocks, one after another.
        num_heads, num_kv_heads, hidden, context_length, theta, eps: as in ``LlamaBlock``.
        tied: whether the output layer is the embedding table.

    >>> _ = torch.manual_seed(123)
    >>> model = Llama(11, d=12, num_layers=2, num_heads=6, num_kv_heads=2, hidden=16,
    ...               context_length=5).requires_grad_(False)
    >>> ids, caches = torch.tensor([[7, 0, 10]]), model.new_caches()
    >>> prompt, token = model(ids[:, :2], caches), model(ids[:, 2:], caches)
    >>> torch.allclose(torch.cat([prompt, token], dim=1), model(ids), atol=1e-5)
    True

    Source: Touvron et al., "LLaMA" (2023).
    """

    def __init__(
        self,
        vocab_size: int,
        d: int,
        num_layers: int,
        num_heads: int,
        num_kv_heads: int,
        hidden: int,
        context_length: int,
        theta: float = 10000.0,
        eps: float = 1e-5,
        tied: bool = True,
    ):
        super().__init__()
        self.context_length = context_length
        self.embedding = nn.Embedding(vocab_size, d)
        self.blocks = nn.ModuleList(
            LlamaBlock(d, num_heads, num_kv_heads, hidden, context_length, theta, eps)
            for _ in range(num_layers)
        )
        self.norm = RMSNorm(d, eps)
        self.output = nn.Linear(d, vocab_size, bias=False)
        if tied:
            self.output.weight = self.embedding.weight  # one table for both ends

    def forward(self, ids: torch.Tensor, caches: list[LayerCache] | None = None) -> torch.Tensor:
        """Map token ids (..., T) to logits (..., T, vocab_size).

        With caches, one for each block, the ids continue after the tokens in there.
        """
        return self.output(self._read(ids, caches))

    def next_logits(
        self, ids: torch.Tensor, caches: list[LayerCache] | None = None
    ) -> torch.Tensor:
        """Return the logits (..., vocab_size) of the token that comes after the last id."""
        return self.output(self._read(ids, caches)[..., -1, :])

    def new_caches(self, batch_size: int = 1) -> list[LayerCache]:
        """Make an empty cache for each block."""
        return [block.attention.new_cache(batch_size) for block in self.blocks]

    def attention_weights(self, ids: torch.Tensor) -> list[torch.Tensor]:
        """Return the weights (..., H, T, T) of each block for token ids (..., T)."""
        x, weights = self.embedding(ids), []
        for block in self.blocks:
            weights.append(block.attention.attention_weights(block.norm1(x)))
            x = block(x)
        return weights

    def _read(self, ids: torch.Tensor, caches: list[LayerCache] | None) -> torch.Tensor:
        """Map token ids (..., T) to the vectors (..., T, d) that the output layer reads."""
        x = self.embedding(ids)  # (..., T, d)
        for block, cache in zip(self.blocks, caches or [None] * len(self.blocks), strict=True):
            x = block(x, cache)
        return self.norm(x)


def load_llama(path: str | Path | None = None) -> Llama:
    """Read a model of the Llama kind from a GGUF file, or from a folder.

    A GGUF file becomes float32, in whatever number of bits it is stored. A folder holds
    ``config.json`` and ``model.safetensors``, one file or several, as ``save_pretrained`` of
    ``transformers`` writes them, and keeps its dtype. The model is in evaluation mode.

    Args:
        path: the file or the folder (default: SmolLM2-135M-Instruct, which set-up brings).

    Raises:
        ImportError: a package is missing: ``gguf`` for a file, ``safetensors`` for a folder.
        FileNotFoundError: a file is missing.
        ValueError: a file is damaged, or asks for numbers that these classes do not compute:
            another architecture, scaled turns, biases, another activation.
    """
    path = given_path(path)
    in_folder = path.is_dir()
    if in_folder:
        config = read_config(path)
        sizes, stored = _sizes_in_folder(config), read_weights(path, config)
        stored = {name: tensor for name, tensor in stored.items() if not name.endswith(SPEEDS)}
    else:
        gguf = read_gguf(path)
        config = gguf.settings
        sizes, stored = _sizes_in_gguf(config), {name: gguf.weight(name) for name in gguf.tensors}
    with config.empty_model():
        model = Llama(**sizes)
    names = {ours: folders if in_folder else ggufs for ours, ggufs, folders in NAMES}
    fill(model, stored, names, path, sizes["tied"])
    if in_folder:
        for block in model.blocks:
            for layer in (block.attention.W_query, block.attention.W_key):
                layer.weight.data = pair_rows(layer.weight.data, block.attention.head_dim)
    return model


def _sizes_in_gguf(settings: Config) -> dict:
    """Return the arguments of a Llama that a GGUF file describes."""
    settings.one_of("general.architecture", ("llama",))
    others = {name for name in settings if name.startswith("llama.")} - GGUF_SETTINGS
    if others:
        raise ValueError(
            f"{settings.path} must be a Llama as first published, got {min(others)} as well"
        )
    heads = settings.whole("llama.attention.head_count")
    sizes = {
        "vocab_size": settings.whole("llama.vocab_size", len(settings.get(GGUF_TOKENS, ()))),
        "d": settings.whole("llama.embedding_length"),
        "num_layers": settings.whole("llama.block_count"),
        "num_heads": heads,
        "num_kv_heads": settings.whole("llama.attention.head_count_kv", heads),
        "hidden": settings.whole("llama.feed_forward_length"),
        "context_length": settings.whole("llama.context_length"),
        "theta": settings.number("llama.rope.freq_base", 10000.0),
        "eps": settings.number("llama.attention.layer_norm_rms_epsilon"),
        "tied": True,  # if the file does not hold another table
    }
    head_dim = sizes["d"] // heads
    for name in (
        "llama.attention.key_length",
        "llama.attention.value_length",
        "llama.rope.dimension_count",
    ):
        settings.one_of(name, (head_dim,), head_dim)
    settings.one_of("llama.rope.scaling.type", ("none",), "none")
    settings.one_of("split.count", (0, 1), 1)  # parts are joined by llama-gguf-split
    return sizes


def _sizes_in_folder(config: Config) -> dict:
    """Return the arguments of a Llama that a ``config.json`` describes."""
    config.one_of("model_type", ("llama",))
    for name, values in FOLDER_SETTINGS.items():
        config.one_of(name, values, values[0])
    turns = config.get("rope_scaling") or config.get("rope_parameters", {})  # version 4, or 5
    turns = Config(turns if isinstance(turns, dict) else {"rope_type": turns}, config.path)
    if any(value != "default" for name, value in turns.items() if name != "rope_theta"):
        raise ValueError(
            f"{config.path} must ask for turns that are not scaled, rope_type = 'default', got "
            f"{dict(turns)}"
        )
    d, heads = config.whole("hidden_size"), config.whole("num_attention_heads")
    config.one_of("head_dim", (d // heads,), d // heads)
    return {
        "vocab_size": config.whole("vocab_size"),
        "d": d,
        "num_layers": config.whole("num_hidden_layers"),
        "num_heads": heads,
        "num_kv_heads": config.whole("num_key_value_heads", heads),
        "hidden": config.whole("intermediate_size"),
        "context_length": config.whole("max_position_embeddings", 2048),
        "theta": turns.number("rope_theta", config.number("rope_theta", 10000.0)),
        "eps": config.number("rms_norm_eps", 1e-6),
        "tied": bool(config.one_of("tie_word_embeddings", (True, False), False)),
    }


def pair_rows(weight: torch.Tensor, head_dim: int) -> torch.Tensor:
    """Reorder the rows of ``W_query`` or ``W_key`` from turned halves to turned neighbours.

    ``transformers`` turns row k of a head together with row k + D / 2, ``apply_rotary`` row 2 k
    together with row 2 k + 1. Scores stay the same, since queries and keys are reordered alike.
    Values are not turned, so ``W_value`` keeps its order.

    >>> pair_rows(torch.arange(4.0)[:, None], head_dim=4).flatten()
    tensor([0., 2., 1., 3.])
    """
    heads = weight.unflatten(0, (-1, 2, head_dim // 2))  # (H, 2, D / 2, d)
    return heads.transpose(1, 2).reshape(weight.shape)


def chat(question: str) -> str:
    """Put a question into the form in which SmolLM2 was taught to answer.

    >>> chat("Are dogs real?")
    '<|im_start|>user\\nAre dogs real?<|im_end|>\\n<|im_start|>assistant\\n'
    """
    return f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"


def encode(tokenizer: "Tokenizer", text: str) -> list[int]:
    """Cut a text into token ids, at least one.

    Raises:
        ValueError: the text is empty, or holds half a character.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"the text must hold whole characters, got half a character at place {error.start}, "
            "as where an emoji was cut in two"
        ) from error
    ids = tokenizer.encode(text).ids
    if not ids:
        raise ValueError(f"the text must hold at least one token, got {text!r}")
    return ids


def end_ids(tokenizer: "Tokenizer") -> set[int]:
    """Return the ids of those tokens that say that a text or a turn in a chat has ended."""
    return {tokenizer.token_to_id(name) for name in END} - {None}


def next_ids(
    model: Llama, ids: Sequence[int], max_new_tokens: int, cached: bool = True
) -> Iterator[int]:
    """Choose the likeliest next token, again and again.

    Args:
        model: a ``Llama``.
        ids: the tokens so far, at least one.
        max_new_tokens: how many to choose.
        cached: whether keys and values are kept; without, all tokens are read again each time.

    Yields:
        One id after another.
    """
    caches = model.new_caches() if cached else None
    ids = torch.as_tensor(ids, device=model.embedding.weight.device)[None]  # (1, T)
    for _ in range(max_new_tokens):
        likeliest = model.next_logits(ids, caches).argmax(dim=-1, keepdim=True)  # (1, 1)
        yield likeliest.item()
        ids = likeliest if cached else torch.cat([ids, likeliest], dim=-1)


def likeliest_ids(
    model: nn.Module, ids: torch.Tensor, max_new_tokens: int, cached: bool = True
) -> Iterator[int]:
    """Choose as ``next_ids`` does, also with a model that has no caches, such as a ``GPT``.

    Args:
        model: gives logits (T, vocab_size) for ids (T,). If it has ``new_caches``, then
            ``next_logits``, too.
        ids: the tokens so far, (T,), at least one, on the model's device.
        max_new_tokens: how many to choose.
        cached: whether keys and values are kept, where the model has caches.

    Yields:
        One id after another.
    """
    if hasattr(model, "new_caches"):
        yield from next_ids(model, ids, max_new_tokens, cached)
        return
    for _ in range(max_new_tokens):
        likeliest = model(ids)[-1:].argmax(dim=-1)  # (1,)
        yield likeliest.item()
        ids = torch.cat([ids, likeliest])


def write(
    model: nn.Module,
    tokenizer: "Tokenizer",
    prompt: str,
    max_new_tokens: int = 40,
    as_chat: bool = False,
    cached: bool = True,
) -> str:
    """Continue a text with the likeliest next token each time, and return what is new.

    It ends after ``max_new_tokens``, or where the model says that the text has ended.

    Args:
        model: a ``Llama`` or a ``GPT``.
        tokenizer: the model's own, from ``read_tokenizer``.
        prompt: the beginning of a text, or a question.
        max_new_tokens: the most tokens to write.
        as_chat: whether the prompt is a question, to be put into the form of ``chat``.
        cached: whether keys and values are kept, where the model has caches.

    Raises:
        ValueError: the prompt is empty, holds half a character, or is too long for the model;
            ``max_new_tokens`` is below 1; or the model knows no chat of that form.
    """
    return "".join(pieces(model, tokenizer, prompt, max_new_tokens, as_chat, cached))


@torch.inference_mode()
def pieces(
    model: nn.Module,
    tokenizer: "Tokenizer",
    prompt: str,
    max_new_tokens: int = 40,
    as_chat: bool = False,
    cached: bool = True,
) -> Iterator[str]:
    """Yield what ``write`` returns, piece by piece, as soon as it is known."""
    if as_chat and tokenizer.token_to_id("<|im_start|>") is None:
        raise ValueError(
            "as_chat must be False for this model: its tokenizer does not know <|im_start|>, so it "
            "was taught another form of chat, or none"
        )
    if max_new_tokens < 1:
        raise ValueError(f"max_new_tokens must be at least 1, got {max_new_tokens}")
    ids = encode(tokenizer, chat(prompt) if as_chat else prompt)
    if len(ids) + max_new_tokens > model.context_length:
        raise ValueError(
            f"prompt and max_new_tokens must fit into {model.context_length} tokens, got "
            f"{len(ids)} and {max_new_tokens}"
        )
    ends = end_ids(tokenizer)
    new, text = [], tokenizer.decode(ids)
    read = torch.tensor(ids, device=model.embedding.weight.device)
    for chosen in likeliest_ids(model, read, max_new_tokens, cached):
        if chosen in ends:
            break
        new.append(chosen)
        longer = tokenizer.decode(ids + new)
        if not longer.endswith("\N{REPLACEMENT CHARACTER}"):  # half a character waits
            yield longer[len(text) :]
            text = longer
    yield tokenizer.decode(ids + new)[len(text) :]  # nothing, or half a character


def main(arguments: Sequence[str] | None = None) -> None:
    """Answer the question on the command line, word by word."""
    parser = argparse.ArgumentParser(
        prog="python -m chapter3_helpers.real_model",
        description="Ask a small language model, SmolLM2-135M-Instruct, a question.",
    )
    parser.add_argument("question", help="in quotation marks; it knows English best")
    parser.add_argument(
        "--model", type=Path, default=model_path(), help="another Llama: a GGUF file or a folder"
    )
    parser.add_argument("--tokens", type=int, default=200, help="the most to write (200)")
    parser.add_argument(
        "--plain", action="store_true", help="continue the text, without the form of a chat"
    )
    given = parser.parse_args(arguments)
    try:
        model, tokenizer = load_llama(given.model), read_tokenizer(given.model)
        for piece in pieces(model, tokenizer, given.question, given.tokens, not given.plain):
            print(piece, end="", flush=True)
    except (ImportError, OSError, ValueError) as error:
        parser.exit(2, f"{error}\n")
    print()


if __name__ == "__main__":
    main()
