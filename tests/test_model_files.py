"""Files of models: every usual form is read, and what is wrong in one is said with its name."""

import json
import os
import re
import sys

import gguf
import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType as Type
from safetensors.torch import save_file
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel

from chapter3_helpers.model_files import (
    Config,
    read_config,
    read_gguf,
    read_tokenizer,
    read_weights,
)
from tests.gguf_files import write_gguf

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 548105171\n"
ONE, TWO = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
INDEX = "model.safetensors.index.json"


# settings


@pytest.mark.parametrize(
    "data",
    [
        b'{"n_layer": 3, "n_inner": null}',
        '\ufeff{"n_layer": 3}'.encode(),
        '{"n_layer": 3}'.encode("utf-16"),
        b'{"n_layer": 3.0}',
        b'\r\n{"n_layer": 3e0}\r\n',
    ],
    ids=["null", "byte order mark", "utf-16", "3.0", "3e0"],
)
def test_settings_are_read_in_every_usual_form(tmp_path, data):
    (tmp_path / "config.json").write_bytes(data)
    config = read_config(tmp_path)
    assert repr(config.whole("n_layer")) == "3"
    assert config.whole("n_inner", default=12) == 12


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", r"config\.json must be JSON, got b'' and 0 bytes in all: .* line 1 column 1"),
        (b'{"n_layer": 3,\n', "must be JSON, .* line 2 column 1 .*copy the whole file"),
        (b"<!DOCTYPE html>\n<html>", "must be JSON, got b'<!DOCTYPE html>"),
        (b"[1, 2]", r"must hold names and values in braces, got b'\[1, 2\]'"),
        (b'{"author": "Zo\xeb"}', "must be JSON, got .* position 14"),
        (POINTER, r"got the pointer that git .* git lfs pull"),
    ],
)
def test_a_file_without_settings_is_refused_in_words(tmp_path, data, words):
    (tmp_path / "config.json").write_bytes(data)
    with pytest.raises(ValueError, match=words):
        read_config(tmp_path)


NO_NUMBERS = [None, -2, "12", True, [3], float("nan"), float("inf")]


@pytest.mark.parametrize(
    ("read", "value"),
    [("whole", value) for value in (*NO_NUMBERS, 0, 2.5)]
    + [("number", value) for value in NO_NUMBERS],
)
def test_what_is_no_number_is_refused(read, value):
    config = Config({"size": value}, "a/config.json")
    shown = re.escape(repr(value))
    with pytest.raises(ValueError, match=f"^a/config.json must say size, a {read}.*got {shown}$"):
        getattr(config, read)("size")


def test_other_settings_are_passed_on_or_refused():
    config = Config({"eps": 0, "act": "relu", "bias": False}, "a/config.json")
    assert config.number("eps") == 0.0
    assert config.number("theta", default=1e4) == 1e4
    assert config.one_of("act", ("gelu", "relu")) == "relu"
    assert config.one_of("bias", (True, False)) is False
    with pytest.raises(ValueError, match=r"must say act = 'gelu' or 'silu', got 'relu'$"):
        config.one_of("act", ("gelu", "silu"))
    with pytest.raises(ValueError, match=r"must say kind = 'gpt2', got None$"):
        config.one_of("kind", ("gpt2",))


# weights


@pytest.fixture
def parts(tmp_path):
    """Two parts and their index, each with a tensor or two."""
    save_file({"a": torch.ones(2), "b": torch.zeros(3)}, tmp_path / ONE)
    save_file({"c": torch.ones(5)}, tmp_path / TWO)
    index = {"metadata": {}, "weight_map": {"a": ONE, "b": ONE, "c": TWO}}
    (tmp_path / INDEX).write_text(json.dumps(index), "utf-8")
    return tmp_path


def test_parts_are_read_as_one_file_is(tmp_path):
    theirs = GPT2LMHeadModel(
        GPT2Config(n_embd=6, n_layer=2, n_head=2, vocab_size=11, n_positions=40, bos_token_id=0)
    )
    for name, size in (("one", "1GB"), ("parts", "2KB")):
        theirs.save_pretrained(tmp_path / name, max_shard_size=size)
    assert len(list((tmp_path / "parts").glob("*.safetensors"))) == 3
    one, parts = (
        read_weights(tmp_path / name, read_config(tmp_path / name)) for name in ("one", "parts")
    )
    assert one.keys() == parts.keys()
    assert all(one[name].equal(parts[name]) for name in one)


def write(name, data):
    return lambda folder: (folder / name).write_bytes(data)


@pytest.mark.parametrize(
    ("damage", "error", "words"),
    [
        (lambda folder: (folder / TWO).unlink(), FileNotFoundError, f"there is no .*{TWO}"),
        (lambda folder: (folder / INDEX).unlink(), FileNotFoundError, f"one holds {ONE}, {TWO}"),
        (
            write(INDEX, b'{"weight_map": {"b": 7}}'),
            ValueError,
            f"{INDEX} must say weight_map, files",
        ),
        (write(TWO, POINTER), ValueError, f"{TWO} must be the file itself, got the pointer"),
        (write(TWO, b""), ValueError, f"{TWO} must be a whole safetensors file, got .*again"),
    ],
)
def test_parts_that_are_not_whole_are_refused(parts, damage, error, words):
    damage(parts)
    with pytest.raises(error, match=words):
        read_weights(parts, Config({}, "config.json"))


@pytest.mark.parametrize("stored", ["b", "w"])
@pytest.mark.parametrize("said", [{"dtype": "bfloat16"}, {"torch_dtype": "float16"}, {}])
def test_a_model_has_the_one_dtype_that_transformers_gives_it(tmp_path, stored, said):
    """In float32 are the biases, the first by name, or the matrices; all else is in float16."""
    theirs = GPT2LMHeadModel(
        GPT2Config(n_embd=6, n_layer=1, n_head=2, vocab_size=11, bos_token_id=0)
    )
    theirs.save_pretrained(tmp_path)
    config = read_config(tmp_path)
    weights = {
        name: tensor if name.split(".")[-1].startswith(stored) else tensor.half()
        for name, tensor in read_weights(tmp_path, config).items()
    }
    weights["mask"] = torch.ones(3, dtype=torch.bool)
    save_file(weights, tmp_path / "model.safetensors", {"format": "pt"})
    del config["dtype"]
    (tmp_path / "config.json").write_text(json.dumps(config | said), "utf-8")
    (expected,) = {p.dtype for p in GPT2LMHeadModel.from_pretrained(tmp_path).parameters()}
    read = read_weights(tmp_path, read_config(tmp_path))
    assert read.pop("mask").dtype == torch.bool
    assert {tensor.dtype for tensor in read.values()} == {expected}


@pytest.mark.parametrize(
    "read", [read_config, read_tokenizer, lambda folder: read_weights(folder, Config({}, ""))]
)
def test_a_missing_file_is_named_with_what_is_there(tmp_path, read):
    with pytest.raises(FileNotFoundError, match=r"This one holds nothing\. Nothing is downloaded"):
        read(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"there is no .*gpt2"):
        read(tmp_path / "gpt2")
    (tmp_path / "pytorch_model.bin").write_bytes(b"PK")
    with pytest.raises(FileNotFoundError, match=r"This one holds pytorch_model\.bin\."):
        read(tmp_path)


# tokenizers


@pytest.fixture
def words():
    tokenizer = Tokenizer(models.WordLevel({"?": 0, "a": 1, "b": 2, "c": 3}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return tokenizer


def test_all_of_a_text_is_read_and_nothing_else(words, tmp_path):
    words.enable_padding(length=4)
    words.enable_truncation(2)
    words.save(str(tmp_path / "tokenizer.json"))
    for path in (tmp_path, tmp_path / "tokenizer.json", str(tmp_path)):
        read = read_tokenizer(path)
        assert read.encode("a b c").ids == [1, 2, 3]
        assert [text.ids for text in read.encode_batch(["a", "b c"])] == [[1], [2, 3]]


def test_byte_pairs_are_merged_as_when_the_model_is_used(tmp_path):
    pairs = models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")], dropout=1.0)
    Tokenizer(pairs).save(str(tmp_path / "tokenizer.json"))
    assert read_tokenizer(tmp_path).encode("ab").ids == [2]


def test_a_byte_order_mark_before_a_tokenizer_is_passed_over(words, tmp_path):
    (tmp_path / "tokenizer.json").write_text("\ufeff" + words.to_str(), "utf-8")
    assert read_tokenizer(tmp_path).encode("c").ids == [3]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "must hold a tokenizer .* got a file that it cannot read .*EOF"),
        (b"{}", "must hold a tokenizer .*Model missing"),
        (b'{"model": {"type": "Newer"}}', "must hold a tokenizer .* or update the package"),
        (POINTER, "got the pointer that git puts in its place"),
    ],
)
def test_a_file_without_a_tokenizer_is_refused(tmp_path, data, words):
    (tmp_path / "tokenizer.json").write_bytes(data)
    with pytest.raises(ValueError, match=rf"tokenizer\.json .*{words}"):
        read_tokenizer(tmp_path)


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("safetensors", lambda folder: read_weights(folder, Config({}, "config.json"))),
        ("tokenizers", read_tokenizer),
        ("gguf", lambda folder: read_gguf(write_gguf(folder / "a", BYTE_PAIRS, {}))),
    ],
)
def test_a_missing_package_is_named(monkeypatch, parts, name, read):
    (parts / "tokenizer.json").write_text("{}", "utf-8")
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=f"takes the package {name}: pip install {name}"):
        read(parts)


# GGUF files


def draw(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


@pytest.mark.parametrize(
    "name",
    [
        "F32",
        "F16",
        "BF16",
        "Q8_0",
        "Q4_0",
        "Q4_1",
        "Q5_0",
        "Q2_K",
        "Q3_K",
        "Q4_K",
        "Q5_K",
        "Q6_K",
        "IQ4_XS",
    ],
)
def test_a_tensor_is_what_its_bits_say(tmp_path, name):
    kind = Type[name]
    numbers, size = gguf.GGML_QUANT_SIZES[kind]
    drawn = np.random.default_rng(1).integers(0, 64, (2, 3, 512 // numbers * size), dtype=np.uint8)
    tensors = {"first": draw(7), "second": drawn, "third": drawn[0]}
    types = dict.fromkeys(("second", "third"), kind)
    file = read_gguf(write_gguf(tmp_path / "a", {"general.architecture": "x"}, tensors, types))
    for tensor, stored in tensors.items():
        said = stored if tensor == "first" else gguf.dequantize(stored, kind)
        found = file.weight(tensor)
        assert found.std() > 0
        torch.testing.assert_close(found, torch.from_numpy(said.copy()))
        found += 1  # in memory of its own: the file stays
        assert file.tensors[tensor].data.flags.writeable is False


def test_settings_of_every_kind_are_read(tmp_path):
    writer = gguf.GGUFWriter(tmp_path / "a", "x")
    said = {  # as each kind of number holds them to the last bit
        **{"uint8": 200, "int8": -100, "uint16": 60_000, "int16": -30_000, "uint32": 4 * 10**9},
        **{"int32": -(2 * 10**9), "uint64": 10**19, "int64": -(9 * 10**18), "float32": 0.375},
        **{
            "float64": 0.1,
            "bool": True,
            "string": "\u00e9 \U0001f600",
            "array": ["a", "", "\u4f60"],
        },
    }
    for kind, value in said.items():
        getattr(writer, f"add_{kind}")(f"a.{kind}", value)
    writer.add_array("a.numbers", [3, -1])
    writer.add_array("a.truths", [True, False])
    writer.add_custom_alignment(64)
    writer.add_tensor("odd", draw(3))
    writer.add_tensor("even", draw(2, 5))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    file = read_gguf(tmp_path / "a")
    assert {name.removeprefix("a."): value for name, value in file.settings.items()} == said | {
        **{"general.architecture": "x", "general.alignment": 64},
        **{"numbers": [3, -1], "truths": [True, False]},
    }
    torch.testing.assert_close(file.weight("even"), torch.from_numpy(draw(2, 5)))


def test_a_file_is_read_once_and_again_where_it_has_changed(tmp_path):
    path = write_gguf(tmp_path / "a", {"general.architecture": "x"}, {"table": draw(3)})
    first = read_gguf(path)
    assert read_gguf(str(path)) is first
    write_gguf(path, {"general.architecture": "y"}, {"table": draw(3)})
    os.utime(path, ns=(0, 0))
    assert read_gguf(path).settings["general.architecture"] == "y"


def test_a_file_that_ends_early_is_refused_wherever_it_ends(tmp_path):
    settings = {"general.architecture": "x", "x.names": ["one", "two"], "x.kinds": [1, 2, 3]}
    tensors = {"first": draw(5, 4), "second": draw(3)}
    whole = write_gguf(tmp_path / "whole", settings, tensors).read_bytes()
    needed = whole.rindex(draw(3).tobytes()) + 12  # what follows fills up
    for length in range(4, needed):
        (tmp_path / "cut").write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"cut must be a whole GGUF file .*Copy it again"):
            read_gguf(tmp_path / "cut")
    (tmp_path / "cut").write_bytes(whole[:needed])
    assert read_gguf(tmp_path / "cut").weight("second").tolist() == draw(3).tolist()


def test_a_kind_of_number_that_is_newer_than_the_package_is_refused(tmp_path):
    path = write_gguf(tmp_path / "new", {"general.architecture": "x"}, {"table": draw(5, 4)})
    whole = bytearray(path.read_bytes())
    whole[whole.index(b"table") + 5 + 4 + 2 * 8] = 250  # after the number of sizes, and the sizes
    path.write_bytes(whole)
    with pytest.raises(ValueError, match=r"\(250 is not a valid .*\)\. .* or update gguf$"):
        read_gguf(path)


def big_endian(path):
    writer = gguf.GGUFWriter(path, "llama", endianess=gguf.GGUFEndian.BIG)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", r"must be a GGUF file, which begins with GGUF, got b''\. Name a GGUF file, or the f"),
        (b"tjgg" + bytes(99), "must be a GGUF file, which begins with GGUF, got b'tjgg"),
        (b"GGUF\x01" + bytes(99), r"must be .* of version 2 or 3, .* \(version 1\)"),
        (b"GGUF\x03\0\0\0" + b"\xff" * 99, "must be a whole GGUF file"),
        (POINTER, "must be the file itself, got the pointer that git puts in its place"),
        (big_endian, r"must be .* with the lowest byte of a number first, .*\(version 50331648\)"),
    ],
)
def test_a_file_that_is_no_gguf_is_refused(tmp_path, data, words):
    path = tmp_path / "model.gguf"
    data(path) if callable(data) else path.write_bytes(data)
    with pytest.raises(ValueError, match=f"model.gguf {words}"):
        read_tokenizer(path)


def test_numbers_that_the_package_cannot_turn_into_floats_are_refused(tmp_path):
    tensors = {"table": np.arange(6, dtype=np.int32).reshape(2, 3)}
    file = read_gguf(write_gguf(tmp_path / "a", {"general.architecture": "x"}, tensors))
    with pytest.raises(ValueError, match=r"into floats, got table as I32\. Take a file in Q8_0"):
        file.weight("table")


# tokenizers in GGUF files

LETTERS = [*"abcdefghijklmnopqrstuvwxyz", "\u0120"]  # a blank is written so
TOKENS = ["<end>", *LETTERS, "in", "\u0120in", "<fim>", "1", "2", "12"]
KINDS = {"<end>": 3, "<fim>": 4}
BYTE_PAIRS = {
    **{"general.architecture": "llama", "tokenizer.ggml.model": "gpt2"},
    **{"tokenizer.ggml.pre": "smollm", "tokenizer.ggml.tokens": TOKENS},
    "tokenizer.ggml.token_type": [KINDS.get(name, 1) for name in TOKENS],
    "tokenizer.ggml.merges": ["i n", "\u0120 in", "1 2"],
}


@pytest.mark.parametrize("name", ["model.gguf", "MODEL.GGUF", "model"])
def test_a_gguf_files_tokens_are_merged_and_those_of_their_own_never_cut(tmp_path, name):
    path = write_gguf(tmp_path / name, BYTE_PAIRS, {})
    tokenizer = read_tokenizer(path)
    for text, tokens in {
        "in win": ["in", "\u0120", "w", "in"],  # the blank is merged with a word that begins so
        "a in": ["a", "\u0120in"],
        "12": ["1", "2"],  # each digit for itself
        "a<end>in<fim>in": ["a", "<end>", "in", "<fim>", "in"],
    }.items():
        encoded = tokenizer.encode(text)
        assert encoded.tokens == tokens
        assert encoded.ids == [TOKENS.index(token) for token in tokens]
        assert tokenizer.decode(encoded.ids) == text.replace("<end>", "")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("model", "llama", "must say tokenizer.ggml.model = 'gpt2', got 'llama'"),
        ("pre", "llama-bpe", "must say tokenizer.ggml.pre = 'smollm', got 'llama-bpe'"),
        ("add_bos_token", True, "must say tokenizer.ggml.add_bos_token = False, got True"),
        ("add_space_prefix", True, "must say tokenizer.ggml.add_space_prefix = False, got True"),
        ("merges", None, "must say tokenizer.ggml.merges, a list of at least one value, got None"),
        ("merges", ["i n", "q u"], "must hold merges of its own tokens, got .*qu"),
        ("token_type", [1, 3], r"kind of token, \(1, 3, 4\), for each of its 34 tok.* 2 of kinds"),
        ("token_type", [6] * len(TOKENS), r"kind of token, .* got 34 of kinds \[6\]"),
    ],
)
def test_a_tokenizer_of_another_kind_is_refused(tmp_path, name, value, words):
    settings = BYTE_PAIRS | {f"tokenizer.ggml.{name}": value}
    said = {name: value for name, value in settings.items() if value is not None}
    with pytest.raises(ValueError, match=words):
        read_tokenizer(write_gguf(tmp_path / "a.gguf", said, {}))


@pytest.mark.parametrize("said", ["int8", "auto", 16])
def test_a_dtype_that_no_model_computes_in_is_refused(parts, said):
    with pytest.raises(ValueError, match=r"config.json must say dtype = 'float32' or .*, got "):
        read_weights(parts, Config({"dtype": said}, "config.json"))
