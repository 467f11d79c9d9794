"""A Llama in the taught classes: the numbers of ``transformers``, and what is refused in words.

What a machine without enough memory does is not tested.
"""

import copy
import functools
import itertools
import json
import math
import os
import pickle

import gguf
import numpy as np
import pytest
import regex
import torch
import transformers
from gguf import GGMLQuantizationType as Type
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from torch import nn
from torch.nn import functional
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint
from transformers.models.llama.modeling_llama import LlamaRMSNorm, LlamaRotaryEmbedding

from chapter3_helpers import model_files, real_model
from chapter3_helpers.model_files import read_gguf, read_tokenizer
from chapter3_helpers.real_model import (
    Llama,
    RMSNorm,
    chat,
    load_llama,
    main,
    next_ids,
    pieces,
    write,
)
from tests.devices import DEVICES
from tests.gguf_files import byte_tokenizer, random_llama, settings_of, tensors_of, write_gguf

CONTEXT = 41
SHAPES = {
    "one kv head": {
        **{"hidden_size": 24, "num_attention_heads": 3, "num_key_value_heads": 1},
        **{"num_hidden_layers": 2, "intermediate_size": 37, "vocab_size": 53},
        **{"tie_word_embeddings": True, "rms_norm_eps": 0.05},
        **{"rope_parameters": {"rope_theta": 300.0, "rope_type": "default"}},
    },
    "some": {
        **{"hidden_size": 40, "num_attention_heads": 10, "num_key_value_heads": 5},
        **{"num_hidden_layers": 1, "intermediate_size": 17, "vocab_size": 31},
    },
    "all": {
        **{"hidden_size": 44, "num_attention_heads": 2, "num_key_value_heads": None},
        **{"num_hidden_layers": 3, "intermediate_size": 7, "vocab_size": 67},
        **{"tie_word_embeddings": True, "rms_norm_eps": 1e-5},
        **{"rope_parameters": {"rope_theta": 1e5, "rope_type": "default"}},
    },
}


def random_theirs(**settings):
    """Return a Llama of ``transformers``, large enough that every part is seen in the logits."""
    config = transformers.LlamaConfig(
        max_position_embeddings=CONTEXT, bos_token_id=None, eos_token_id=None, **settings
    )
    config._attn_implementation = "eager"
    torch.manual_seed(1)
    model = transformers.LlamaForCausalLM(config).eval().requires_grad_(False)
    for parameter in model.parameters():
        parameter.add_(torch.randn_like(parameter), alpha=0.3)
    return model


@pytest.fixture(scope="module", params=SHAPES)
def theirs(request):
    return random_theirs(**SHAPES[request.param])


def draw_ids(*shape, below=31):
    return torch.randint(below, shape, generator=torch.Generator().manual_seed(7))


def close(found, expected, atol=1e-4):
    torch.testing.assert_close(found, expected, atol=atol, rtol=1e-5)


# against transformers


def test_logits_weights_and_generated_tokens_are_theirs(theirs, tmp_path):
    theirs.save_pretrained(tmp_path)
    ours, ids = load_llama(tmp_path), draw_ids(2, CONTEXT)
    assert not any(module.training for module in ours.modules())
    assert {parameter.requires_grad for parameter in ours.parameters()} == {True}
    assert (ours.output.weight is ours.embedding.weight) == theirs.config.tie_word_embeddings
    expected = theirs(ids, output_attentions=True)
    close(ours(ids), expected.logits)
    for weights, wanted in zip(ours.attention_weights(ids), expected.attentions, strict=True):
        close(weights, wanted, atol=1e-5)
    prompt = ids[0, :9]
    (written,) = theirs.generate(prompt[None], max_new_tokens=20, do_sample=False).tolist()
    for cached in (True, False):
        assert list(next_ids(ours, prompt.tolist(), 20, cached)) == written[9:]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_kept_and_rounds_no_more_than_theirs(theirs, dtype, tmp_path):
    copy.deepcopy(theirs).to(dtype).save_pretrained(tmp_path)
    half = transformers.LlamaForCausalLM.from_pretrained(tmp_path)  # its angles are in float32
    ours, ids = load_llama(tmp_path), draw_ids(40, CONTEXT)
    found, rounded = ours(ids), half(ids).logits
    assert found.dtype == rounded.dtype == dtype
    exact = half.float()(ids).logits
    close(ours.float()(ids), exact)
    error, allowed = ((logits.float() - exact).square().mean() for logits in (found, rounded))
    assert error < 1.2 * allowed


TAKEN_OUT = "taken out"
V4 = {"architectures": ["LlamaForCausalLM"], "hidden_act": "silu", "initializer_range": 0.02}
V4 |= {"pretraining_tp": 1, "use_cache": True, "rope_scaling": None, "attention_dropout": 0.0}
CONFIGS = {  # what files of models that people have say, beside their sizes
    "Llama 1": {
        "torch_dtype": "float16",
        "max_position_embeddings": TAKEN_OUT,
        "rms_norm_eps": 1e-6,
    },
    "TinyLlama": V4 | {"torch_dtype": "bfloat16", "rope_theta": 10000.0},
    "SmolLM2": V4
    | {"rope_theta": 100000, "is_llama_config": True, "rope_interleaved": False, "head_dim": 8}
    | {"mlp_bias": False, "transformers.js_config": {"kv_cache_dtype": {"q4f16": "float16"}}},
    "version 5": {
        "dtype": "float32",
        "rope_parameters": {"rope_theta": 7e5, "rope_type": "default"},
    },
    "plain turns": V4 | {"rope_scaling": {"type": "default"}, "rope_theta": 300.0},
    "theta twice": V4
    | {"rope_scaling": {"rope_type": "default", "rope_theta": 9.0}, "rope_theta": 4},
}


@pytest.fixture
def files(tmp_path):
    """A small Llama in its files."""
    random_theirs(**SHAPES["one kv head"] | {"tie_word_embeddings": False}).save_pretrained(
        tmp_path
    )
    return tmp_path


def change_config(files, **changes):
    config = json.loads((files / "config.json").read_text("utf-8")) | changes
    kept = {name: value for name, value in config.items() if value != TAKEN_OUT}
    (files / "config.json").write_text(json.dumps(kept), "utf-8")


@pytest.mark.parametrize("said", CONFIGS.values(), ids=CONFIGS)
def test_a_config_that_people_have_means_what_it_means_to_transformers(files, said):
    change_config(files, **{"rope_parameters": TAKEN_OUT, "dtype": TAKEN_OUT} | said)
    ours, theirs = load_llama(files), transformers.LlamaForCausalLM.from_pretrained(files)
    assert ours.embedding.weight.dtype == theirs.dtype
    assert ours.context_length == theirs.config.max_position_embeddings
    ids = draw_ids(2, CONTEXT)
    close(ours.float()(ids), theirs.float()(ids).logits)


# a GGUF file

MIXED = {  # widths are multiples of 32, so that each kind can be tried
    **{"token_embd": Type.Q8_0, "attn_norm": Type.F32, "attn_q": Type.F16, "attn_k": Type.Q8_0},
    **{"attn_v": Type.BF16, "attn_output": Type.Q4_0, "ffn_norm": Type.F32},
    **{"ffn_gate": Type.Q4_1, "ffn_up": Type.Q5_1, "ffn_down": Type.Q5_0, "output": Type.F32},
}
WIDE = {"d": 96, "num_heads": 6, "num_kv_heads": 2, "hidden": 64}


def theirs_in(path):
    """Return what ``transformers`` reads from a GGUF file.

    Its ``from_pretrained(..., gguf_file=...)`` does the same, and asks for one package more.
    """
    with pytest.MonkeyPatch.context() as patch:  # the file is parsed once, not twice
        patch.setattr(gguf, "GGUFReader", functools.cache(gguf.GGUFReader))
        config = transformers.LlamaConfig(**load_gguf_checkpoint(path)["config"])
        config._attn_implementation = "eager"
        with torch.device("meta"):
            model = transformers.LlamaForCausalLM(config)
        tensors = load_gguf_checkpoint(path, return_tensors=True, model_to_load=model)["tensors"]
    if config.tie_word_embeddings:
        tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"]
    model.load_state_dict(tensors, assign=True)
    model.model.rotary_emb = LlamaRotaryEmbedding(config)
    return model.eval().requires_grad_(False)


@pytest.fixture
def gguf_file(tmp_path):
    """A small Llama in a GGUF file, which a test may write anew."""
    model = random_llama()
    return write_gguf(tmp_path / "model.gguf", settings_of(model), tensors_of(model))


@pytest.mark.parametrize(
    ("sizes", "kinds"),
    [
        (WIDE, MIXED),
        (WIDE | {"num_kv_heads": 6, "tied": False, "theta": 1e5, "eps": 1e-6}, {}),
    ],
    ids=["mixed", "float32"],
)
def test_transformers_reads_the_same_model_from_a_gguf_file(tmp_path, sizes, kinds):
    model = random_llama(**sizes)
    settings, tensors = settings_of(model), tensors_of(model)
    types = {name: kinds.get(name.split(".")[-2]) for name in tensors}
    write_gguf(tmp_path / "model.gguf", settings, tensors, types)
    theirs = theirs_in(tmp_path / "model.gguf")
    ours, ids = load_llama(tmp_path / "model.gguf"), draw_ids(2, CONTEXT)
    assert {parameter.dtype for parameter in ours.parameters()} == {torch.float32}
    assert (ours.output.weight is ours.embedding.weight) == sizes.get("tied", True)
    expected = theirs(ids, output_attentions=True)
    assert expected.logits.std() > 0.1
    close(ours(ids), expected.logits)
    for weights, wanted in zip(ours.attention_weights(ids), expected.attentions, strict=True):
        close(weights, wanted, atol=1e-5)


def test_a_file_that_says_no_theta_means_that_of_the_first_llama(gguf_file):
    model, ids = random_llama(theta=10_000.0), draw_ids(2, CONTEXT)
    said = settings_of(model)
    del said["llama.rope.freq_base"]
    write_gguf(gguf_file, said, tensors_of(model))
    close(load_llama(gguf_file)(ids), model(ids))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"general.architecture": "qwen2"}, "general.architecture = 'llama', got 'qwen2'"),
        ({"llama.rope.scaling.type": "linear"}, "llama.rope.scaling.type = 'none', got 'linear'"),
        ({"llama.rope.scaling.factor": 4.0}, "as first published, got llama.rope.scaling.factor"),
        ({"llama.rope.dimension_count": 2}, "llama.rope.dimension_count = 4, got 2"),
        ({"llama.attention.key_length": 8}, "llama.attention.key_length = 4, got 8"),
        ({"llama.attention.value_length": 8}, "llama.attention.value_length = 4, got 8"),
        ({"llama.rope.freq_base": 0.0}, "model.gguf must say sizes that go together: .* and 0.0"),
        ({"llama.block_count": 3}, "must hold blk.2.attn_norm.weight .*, got none"),
        ({"llama.vocab_size": 52}, r"hold token_embd.weight as \(52, 24\), .*, got \(53, 24\)"),
        ({"split.count": 3}, "must say split.count = 0 or 1, got 3"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else "",
)
def test_settings_of_a_gguf_file_that_ask_for_other_numbers_are_refused(gguf_file, changes, words):
    model = random_llama()
    write_gguf(gguf_file, settings_of(model) | changes, tensors_of(model))
    with pytest.raises(ValueError, match=words):
        load_llama(gguf_file)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rope_freqs.weight": np.float32([1, 1])}, "no others, got rope_freqs.weight as well"),
        ({"blk.0.attn_q.bias": np.ones(24, np.float32)}, "no others, got blk.0.attn_q.bias"),
        ({"output_norm.weight": np.ones(24, np.int32)}, "turn into floats, got output_norm.weight"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else "",
)
def test_tensors_of_a_gguf_file_that_are_no_llamas_are_refused(gguf_file, changes, words):
    """Llama 3.1 and 3.2 scale their turns by a tensor, rope_freqs."""
    model = random_llama()
    write_gguf(gguf_file, settings_of(model), tensors_of(model) | changes)
    with pytest.raises(ValueError, match=words):
        load_llama(gguf_file)


def test_the_table_may_stand_in_a_gguf_file_twice(gguf_file):
    model = random_llama()
    tensors = tensors_of(model)
    write_gguf(
        gguf_file, settings_of(model), tensors | {"output.weight": tensors["token_embd.weight"]}
    )
    read = load_llama(gguf_file)
    assert read.output.weight is read.embedding.weight
    assert read(draw_ids(9)).equal(model(draw_ids(9)))


# what is refused in a folder


def scaled(kind, **settings):
    return {"factor": 4.0, kind: "linear"} | settings


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model_type": "mistral"}, "must say model_type = 'llama', got 'mistral'"),
        ({"rope_scaling": scaled("type")}, "not scaled, .* got .*'linear'"),  # DeepSeek Coder
        ({"rope_scaling": {"factor": 2.0}}, r"not scaled, rope_type = 'default', got {'factor': 2"),
        (
            {"rope_scaling": scaled("rope_type", rope_type="llama3", high_freq_factor=4.0)},
            "not scaled, .*'llama3'",
        ),  # Llama 3.1, as version 4 writes it, and 5
        (
            {"rope_parameters": scaled("rope_type", rope_type="llama3", rope_theta=5e5)},
            "config.json must ask for turns that are not scaled, .*'llama3'",
        ),
        ({"rope_parameters": {"full_attention": {"rope_theta": 1e6}}}, "not scaled, .*full_att"),
        ({"rope_parameters": {"partial_rotary_factor": 0.5}}, "not scaled, .*partial_rot.*0.5"),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor = None or 1.0, got 0.5"),
        ({"rope_interleaved": True}, "rope_interleaved = None or False, got True"),
        ({"attention_bias": True}, "must say attention_bias = False, got True"),
        ({"mlp_bias": True}, "must say mlp_bias = False, got True"),
        ({"hidden_act": "gelu_pytorch_tanh"}, "hidden_act = 'silu' or 'swish', got 'gelu_p"),
        ({"num_key_value_heads": 2}, "config.json must say sizes that go together: num_heads .* 2"),
        ({"head_dim": 12}, "must say head_dim = 8, got 12"),
        ({"sliding_window": 4096}, "must say sliding_window = None, got 4096"),
        ({"quantization_config": {"bits": 4}}, "quantization_config = None, got {'bits': 4}"),
    ],
)
def test_a_config_that_asks_for_other_numbers_is_refused(files, changes, words):
    change_config(files, **changes)
    with pytest.raises(ValueError, match=words):
        load_llama(files)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"lm_head.weight": None}, "must hold lm_head.weight .*, got none"),
        (
            {"model.layers.1.self_attn.q_proj.bias": torch.ones(24)},
            "no others, got model.layers.1",
        ),
    ],
)
def test_weights_that_are_no_llama_are_refused(files, change, words):
    stored = load_file(files / "model.safetensors") | change
    kept = {name: tensor for name, tensor in stored.items() if tensor is not None}
    save_file(kept, files / "model.safetensors", {"format": "pt"})
    with pytest.raises(ValueError, match=words):
        load_llama(files)


def test_speeds_of_turns_that_files_of_2023_hold_are_passed_over(files):
    expected, speeds = load_llama(files)(draw_ids(9)), 300.0 ** (torch.arange(0, -8, -2) / 8)
    names = [f"model.layers.{i}.self_attn.rotary_emb.inv_freq" for i in range(2)]
    stored = load_file(files / "model.safetensors") | {name: speeds.half() for name in names}
    save_file(stored, files / "model.safetensors", {"format": "pt"})
    assert load_llama(files)(draw_ids(9)).equal(expected)


def test_a_table_that_differs_from_the_output_layer_is_kept(files):
    """``transformers`` keeps it too, though the config says that they are one."""
    change_config(files, tie_word_embeddings=True)
    theirs = transformers.LlamaForCausalLM.from_pretrained(files)
    close(load_llama(files)(draw_ids(9)), theirs(draw_ids(9)[None]).logits[0])


# a model and its caches


@pytest.fixture(scope="module")
def ours():
    return random_llama()


def test_tokens_may_come_in_chunks_and_one_by_one(ours):
    ids = draw_ids(2, CONTEXT)
    whole = ours(ids)
    for sizes in ([1] * CONTEXT, [5, 1, 1, 17, 3, 14], [CONTEXT]):
        caches = ours.new_caches(batch_size=2)
        chunks = torch.split(ids, sizes, dim=1)
        close(torch.cat([ours(chunk, caches) for chunk in chunks], dim=1), whole)
        assert {len(cache) for cache in caches} == {CONTEXT}
    caches = ours.new_caches()
    close(torch.stack([ours.next_logits(token[None], caches) for token in ids[1]]), whole[1])


def test_next_logits_are_those_of_the_last_place(ours):
    for ids in (draw_ids(2, 3, 7), draw_ids(7)):
        close(ours.next_logits(ids), ours(ids)[..., -1, :])


def test_a_text_alone_and_among_others_has_the_same_logits(ours):
    ids = draw_ids(2, 3, 7)
    whole, weights = ours(ids), ours.attention_weights(ids)
    assert whole.shape == (2, 3, 7, 53)
    close(ours(ids[1, 2]), whole[1, 2])
    for found, expected in zip(ours.attention_weights(ids[1, 2]), weights, strict=True):
        assert expected.shape == (2, 3, 6, 7, 7)
        close(found, expected[1, 2])


def test_what_comes_later_changes_nothing_to_the_bit(ours):
    ids = draw_ids(CONTEXT)
    changed = ids.clone()
    changed[20] = ids[20] + 1
    before, after = ours(ids), ours(changed)
    assert before[:20].equal(after[:20])
    assert not before[20:].isclose(after[20:]).all(dim=-1).any()


def test_gradients_reach_every_parameter_and_no_later_token(ours):
    trained, kept = copy.deepcopy(ours).requires_grad_(), []

    def keep(_, __, x):
        x.retain_grad()
        kept.append(x)

    trained.embedding.register_forward_hook(keep)
    functional.cross_entropy(trained(draw_ids(2, 9))[:, 5], draw_ids(2)).backward()
    assert (kept[0].grad[:, :6] != 0).any(dim=-1).all()
    assert (kept[0].grad[:, 6:] == 0).all()
    for name, parameter in trained.named_parameters():
        assert (parameter.grad != 0).any(), name


@pytest.mark.parametrize("tied", [True, False])
def test_a_copy_is_the_same_model(tied):
    model, ids = random_llama(tied=tied), draw_ids(CONTEXT)
    expected = model(ids)
    with torch.device("meta"):
        empty = Llama(53, 24, 2, 6, 2, 37, CONTEXT, theta=700.0, eps=0.01, tied=tied)
    emptied = copy.deepcopy(empty).to_empty(device="cpu")
    emptied.load_state_dict(model.state_dict())
    empty.load_state_dict(model.state_dict(), assign=True)
    for copied in (empty, emptied, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert copied(ids).equal(expected)
    names = {name.rpartition(".")[2] for name in model.state_dict()}
    assert names == {"weight"}, "neither masks nor angles are stored"


@pytest.mark.parametrize("number", [1, 3])
def test_each_block_has_its_cache(ours, number):
    caches = (ours.new_caches() + ours.new_caches())[:number]
    with pytest.raises(ValueError, match=r"argument 2 is (shorter|longer)"):
        ours(draw_ids(5), caches)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_the_norm_rounds_as_that_of_llama_and_is_pytorchs(dtype):
    """A factor that is rounded by itself would add a quarter to the error of half precision."""
    x = torch.randn(64, 577, generator=torch.Generator().manual_seed(1)).to(dtype)
    x[0], x[1] = 3000, 0  # squares are beyond float16; nothing is divided by zero
    norms = RMSNorm(577, 1e-3), LlamaRMSNorm(577, 1e-3), nn.RMSNorm(577, 1e-3, dtype=dtype)
    for norm in norms:
        norm.to(dtype).weight.data = torch.linspace(-1, 2, 577).to(dtype)
    ours, llamas, pytorchs = (norm(x) for norm in norms)
    assert ours.dtype == dtype
    unit = torch.finfo(dtype).eps  # of the last bit
    exact = functional.rms_norm(x.double(), (577,), norms[0].weight.double(), 1e-3)
    torch.testing.assert_close(ours, pytorchs, rtol=2 * unit, atol=0)
    error, allowed = ((found - exact).square().mean() for found in (ours, llamas))
    assert error < 1.05 * allowed


# what it writes


class Says:
    """Stands for a model that says these ids, whatever it reads, and remembers what that was."""

    context_length = 99

    def __init__(self, *ids):
        self.ids, self.read = list(ids), []
        self.embedding = nn.Embedding(300, 1)

    def new_caches(self):
        return []

    def next_logits(self, ids, caches):
        self.read.append(ids[0].tolist())
        assert not torch.is_grad_enabled()
        return functional.one_hot(torch.tensor([self.ids[len(self.read) - 1]]), 300).float()


@pytest.fixture(scope="module")
def tokenizer():
    """One token for each byte, and some that end a text."""
    tokenizer = byte_tokenizer()
    tokenizer.add_special_tokens([*ENDS, "<|im_start|>"])
    return tokenizer


ENDS = ("<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>", "</s>")
SAID = " né 🙂!"


def test_a_text_is_given_out_as_soon_as_a_character_is_whole(tokenizer):
    new = tokenizer.encode(SAID).ids
    assert len(new) == 10, "two bytes of é and four of the face are tokens of their own"
    written = list(pieces(Says(*new), tokenizer, "On", max_new_tokens=10))
    assert [piece for piece in written if piece] == [" ", "n", "é", " ", "🙂", "!"]
    assert write(Says(*new), tokenizer, "On", max_new_tokens=10) == SAID
    for length in range(1, 10):  # half a character at the end is not lost, but shown as such
        text = write(Says(*new), tokenizer, "On", max_new_tokens=length)
        assert text == SAID.encode()[:length].decode(errors="replace")


def test_half_a_character_in_the_middle_hides_nothing_that_follows(tokenizer):
    face, letter = tokenizer.encode("🙂").ids, tokenizer.encode("a").ids
    text = write(Says(*face[:3], *letter, *face[:1]), tokenizer, "On", max_new_tokens=5)
    assert text == "\N{REPLACEMENT CHARACTER}a\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize("end", ENDS)
def test_it_stops_where_the_text_ends(tokenizer, end):
    new = tokenizer.encode(f"ab{end}cd").ids
    assert len(new) == 5
    model = Says(*new)
    assert write(model, tokenizer, "On") == "ab"
    assert len(model.read) == 3


def test_it_goes_on_for_as_long_as_it_may(tokenizer):
    model = Says(*tokenizer.encode("abcd").ids)
    assert write(model, tokenizer, "On", max_new_tokens=3) == "abc"
    assert len(model.read) == 3, "no token is computed that is not shown"


def test_a_question_is_put_into_the_form_of_a_chat(tokenizer):
    form = "<|im_start|>user\nWho?<|im_end|>\n<|im_start|>assistant\n"
    assert chat("Who?") == form
    model = Says(*tokenizer.encode("I<|im_end|>").ids)
    assert write(model, tokenizer, "Who?", as_chat=True) == "I"
    assert model.read[0] == tokenizer.encode(form).ids
    assert model.read[0][0] == tokenizer.token_to_id("<|im_start|>")


def test_a_word_that_follows_keeps_its_blank():
    """Tokenizers of Llama 1 and 2 take the blank away from the first word that they decode."""
    tokenizer = Tokenizer(models.BPE({"▁On": 0, "▁the": 1, "n": 2, "▁": 3, "O": 4, "▁O": 5}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    assert tokenizer.decode([1]) == "the"
    assert write(Says(1, 2, 1), tokenizer, "O", max_new_tokens=3) == " then the"


@pytest.mark.parametrize("cached", [True, False])
def test_with_caches_only_what_is_new_is_read(tokenizer, cached):
    on, a, b = (tokenizer.encode(text).ids for text in ("On", "a", "b"))
    model = Says(*a, *b, *a)
    assert write(model, tokenizer, "On", 3, cached=cached) == "aba"
    assert model.read == ([on, a, b] if cached else [on, on + a, on + a + b])


def test_switches_of_torch_change_nothing_that_is_written(tokenizer, gguf_file):
    model = random_llama(vocab_size=tokenizer.get_vocab_size())
    write_gguf(gguf_file, settings_of(model), tensors_of(model))
    expected = write(model, tokenizer, "On", 20)
    was = torch.get_default_dtype()
    try:
        for dtype, grad in ((torch.float64, True), (torch.float32, False), (torch.bfloat16, True)):
            torch.set_default_dtype(dtype)
            with torch.set_grad_enabled(grad), torch.device(DEVICES[-1]):
                model = load_llama(gguf_file)
                assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
                assert write(model, tokenizer, "On", 20) == expected
                assert torch.is_grad_enabled() == grad
    finally:
        torch.set_default_dtype(was)


# what is refused of what a person types


@pytest.mark.parametrize(
    ("prompt", "options", "words"),
    [
        ("", {}, "the text must hold at least one token, got ''"),
        ("an \ud83d emoji", {}, "whole characters, got half a character at place 3, as where an"),
        ("a" * 9000, {}, "must fit into 99 tokens, got 9000 and 40"),
        ("ab", {"max_new_tokens": 0}, "max_new_tokens must be at least 1, got 0"),
    ],
)
def test_a_prompt_that_cannot_be_continued_is_refused(tokenizer, prompt, options, words):
    with pytest.raises(ValueError, match=words):
        write(Says(1), tokenizer, prompt, **options)


def test_a_chat_is_refused_where_the_tokenizer_knows_none():
    tokenizer = Tokenizer(models.BPE({"a": 0}, []))
    with pytest.raises(ValueError, match=r"as_chat must be False .* does not know <\|im_start\|>"):
        write(Says(0), tokenizer, "a", as_chat=True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--model", "nowhere.gguf", "Who?"], "there is no nowhere.gguf. Name a GGUF file, or the"),
        (["--model", "text.gguf", "Who?"], "text.gguf must be a GGUF file, which begins with GGUF"),
    ],
)
def test_the_command_line_says_in_one_line_what_is_wrong(
    tmp_path, monkeypatch, capsys, arguments, words
):
    (tmp_path / "text.gguf").write_text("a text")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert err.count("\n") == 1


def test_without_the_model_it_is_said_how_to_have_it(monkeypatch, capsys):
    monkeypatch.setattr(model_files, "find_spec", lambda _: None)
    with pytest.raises(SystemExit, match="2"):
        main(["Who?"])
    assert "the model is not installed: SmolLM2-135M-Inst" in capsys.readouterr().err


def test_the_command_line_answers_word_by_word(tokenizer, gguf_file, monkeypatch, capsys):
    new = tokenizer.encode(f"{SAID}<|im_end|>").ids
    model = Says(*new)
    model.context_length = 300
    monkeypatch.setattr(real_model, "load_llama", lambda path: model)
    monkeypatch.setattr(real_model, "read_tokenizer", lambda path: tokenizer)
    main(["Who?"])
    assert capsys.readouterr().out == f"{SAID}\n"
    assert model.read[0] == tokenizer.encode(chat("Who?")).ids
    model.read.clear()
    main(["--plain", "--tokens", "3", "Who?"])
    assert capsys.readouterr().out == " n\N{REPLACEMENT CHARACTER}\n"
    assert model.read[0] == tokenizer.encode("Who?").ids


# SmolLM2-135M-Instruct, which set-up brings


@pytest.fixture(scope="module")
def real():
    """The model and its tokenizer, read once for all tests."""
    if model_files.model_path() is None:
        reason = "the real model is not installed: make setup"
        pytest.fail(reason) if os.environ.get("REQUIRE_MODEL") else pytest.skip(reason)
    return load_llama().requires_grad_(False), read_tokenizer()


CONTINUED = {  # prompts, and what the model says first, by logits that lie at least .2 apart
    "The sun was setting behind the": " horizon, casting a golden glow over the entire scene.",
    "She looked at him and": " said, \"I'm sorry, I'm not sure I'm ready to talk about it.\"",
    "My name is Quembyra. Nice to meet you, Quem": "byra. I'm a",
    chat("What is the capital of Russia?"): "The capital of Russia is Moscow.",
    chat("Which animal says meow?"): 'The answer is: The animal that says "meow" is a cat.',
}
PARAGRAPH = (
    "Attention lets each token look at the tokens before it. A query is compared with every key, "
    "the scores become weights, and the weights mix the values."
)


def test_135M_has_the_sizes_that_were_published(real):
    model, tokenizer = real
    assert sum(parameter.numel() for parameter in model.parameters()) == 134_515_008
    assert model.output.weight is model.embedding.weight
    assert (len(model.blocks), model.context_length) == (30, 8192)
    block = model.blocks[29]
    heads = block.attention
    assert (heads.num_heads, heads.num_kv_heads, heads.head_dim, heads.theta) == (9, 3, 64, 1e5)
    assert block.feed_forward.up.weight.shape == (1536, 576)
    assert block.norm1.eps == pytest.approx(1e-5)
    assert tokenizer.get_vocab_size() == len(model.embedding.weight) == 49_152


def test_135M_computes_what_transformers_computes(real):
    """Logits and weights of all layers, and 20 tokens of five prompts, each among the likeliest."""
    model, tokenizer = real
    theirs = theirs_in(model_files.model_path())
    ids = torch.tensor([tokenizer.encode(PARAGRAPH).ids, tokenizer.encode(PARAGRAPH).ids[::-1]])
    expected = theirs(ids, output_attentions=True)
    torch.testing.assert_close(model(ids), expected.logits, atol=1e-3, rtol=0)
    for weights, wanted in zip(model.attention_weights(ids), expected.attentions, strict=True):
        torch.testing.assert_close(weights, wanted, atol=1e-4, rtol=0)
    for prompt, text in CONTINUED.items():
        read = tokenizer.encode(prompt).ids
        new = list(next_ids(model, read, 20))
        assert tokenizer.decode(read + new).startswith(tokenizer.decode(read) + text)
        logits = theirs(torch.tensor([read + new])).logits[0, len(read) - 1 : -1]  # (20, 49152)
        chosen = logits[range(20), new]
        torch.testing.assert_close(chosen, logits.amax(dim=-1), atol=2e-3, rtol=0)


def test_135M_answers_on_the_command_line(real, monkeypatch, capsys):
    monkeypatch.setattr(real_model, "load_llama", lambda _: real[0])  # it is read already
    main(["What is the capital of Japan?"])
    assert capsys.readouterr().out == "The capital of Japan is Tokyo.\n"


WORDS = (
    *("attention", "naïveté", "προσοχή", "внимание", "انتباه", "תשומת לב", "ध्यान देना"),
    *("ความสนใจ", "我想吃酸菜鱼", "アテンション 注意"),
)
FORMS = (
    *(
        "{}",
        " {}",
        "{} ",
        "  {}\n\n {}",
        "{}\t\t{}",
        "{}\r\n {}",
        "\u00a0{}\u3000",
        "\u200b{}\u2028",
    ),
    *("{}2024", "123 456 {}", "{} ٣٤ ३४", "½{}² Ⅷ①", "第3{}", "{}'s '{}'", "we'll {}'VE 'd"),
    *(
        "...{}___!?",
        "🙂{}👨‍👩‍👧",
        "e\u0301{}\x00\x7f",
        "<|im_start|>{}<|im_end|>",
        "<|im_start |>{}\ufffd",
    ),
)
PIECES = (  # GPT-2's, as published
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
)


def letters_of_bytes():
    """Return the letter that GPT-2's tokenizer writes for each byte: itself where it is visible."""
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in visible]
    return {byte: chr(byte) for byte in visible} | {b: chr(256 + n) for n, b in enumerate(others)}


def merged(piece, ranks):
    """Merge the pair that was merged first, again and again."""
    tokens = [*piece]
    while pairs := [*itertools.pairwise(tokens)]:
        first = min(pairs, key=lambda pair: ranks.get(pair, math.inf))
        if first not in ranks:
            break
        place = pairs.index(first)
        tokens[place : place + 2] = ["".join(first)]
    return tokens


def test_135M_cuts_texts_by_the_rule_of_its_file(real):
    """Marks are cut out first, then each digit for itself; then come GPT-2's pieces, as bytes.

    200 texts in ten scripts. The tokenizer that ``transformers`` makes of this file has no rule for
    digits: it differs in 20 of them, those with digits that are no ASCII.
    """
    _, tokenizer = real
    settings = read_gguf(model_files.model_path()).settings
    names = settings["tokenizer.ggml.tokens"]
    ids = {name: number for number, name in enumerate(names)}
    merges = settings["tokenizer.ggml.merges"]
    ranks = {tuple(pair.split(" ")): rank for rank, pair in enumerate(merges)}
    kinds = zip(names, settings["tokenizer.ggml.token_type"], strict=True)
    marks = [name for name, kind in kinds if kind == 3]
    assert len(marks) == 17
    cut_marks = regex.compile(f"({'|'.join(map(regex.escape, marks))})")
    letters = letters_of_bytes()
    texts = [form.format(*[word] * 2) for form in FORMS for word in WORDS]
    assert len(set(texts)) == 200
    for text in texts:
        expected = []
        for part in cut_marks.split(text):
            if part in marks:
                expected.append(part)
                continue
            for run in regex.split(r"(\p{N})", part):
                for piece in regex.findall(PIECES, run):
                    expected += merged("".join(letters[byte] for byte in piece.encode()), ranks)
        encoded = tokenizer.encode(text)
        assert encoded.tokens == expected, text
        assert encoded.ids == [ids[token] for token in expected]
        assert tokenizer.decode(encoded.ids, skip_special_tokens=False) == text
        plain = cut_marks.sub("", text)
        assert tokenizer.decode(encoded.ids) == plain
