"""Files of models: every usual form is read, and what is wrong in one is said with its name."""

import json
import re
import sys

import pytest
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel

from chapter3_helpers.model_files import Config, read_config, read_tokenizer, read_weights

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
        (b"", r"config\.json must be JSON, got '' and 0 characters in all: .* line 1 column 1"),
        (
            b'{"n_layer": 3,\n',
            r"got '{\"n_layer\": 3,\\n' .* line 2 column 1 .*copy the whole file",
        ),
        (b"{'n_layer': 3}", "must be JSON, got .* property name enclosed in double quotes"),
        (b"<!DOCTYPE html>\n<html>", "must be JSON, got '<!DOCTYPE html>"),
        (b"[1, 2]", r"must hold names and values in braces, got '\[1, 2\]'"),
        (b'{"author": "Zo\xeb"}', "must be a text in UTF-8, got .* position 14"),
        (POINTER, r"got the pointer that git .* git lfs pull"),
    ],
)
def test_a_file_without_settings_is_refused_in_words(tmp_path, data, words):
    (tmp_path / "config.json").write_bytes(data)
    with pytest.raises(ValueError, match=words):
        read_config(tmp_path)


@pytest.mark.parametrize(
    "value", ["missing", 0, -2, 2.5, "12", True, [3], float("nan"), float("inf")], ids=repr
)
def test_what_counts_nothing_is_refused(value):
    config = Config({} if value == "missing" else {"n_head": value}, "a/config.json")
    shown = "None" if value == "missing" else re.escape(repr(value))
    with pytest.raises(
        ValueError, match=f"^a/config.json must say n_head, a whole number of .* 1, got {shown}$"
    ):
        config.whole("n_head")


@pytest.mark.parametrize(
    "value", ["missing", -1e-5, "1e-5", False, {}, float("nan"), float("inf")], ids=repr
)
def test_what_is_no_number_is_refused(value):
    config = Config({} if value == "missing" else {"eps": value}, "a/config.json")
    with pytest.raises(ValueError, match=r"^a/config.json must say eps, a number of at least 0, "):
        config.number("eps")


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


def place(**changes):
    def damage(folder):
        index = json.loads((folder / INDEX).read_text("utf-8"))
        places = index["weight_map"] | changes
        index["weight_map"] = {name: file for name, file in places.items() if file}
        (folder / INDEX).write_text(json.dumps(index), "utf-8")

    return damage


def write(name, data):
    return lambda folder: (folder / name).write_bytes(data)


@pytest.mark.parametrize(
    ("damage", "error", "words"),
    [
        (lambda folder: (folder / TWO).unlink(), FileNotFoundError, f"there is no .*{TWO}"),
        (lambda folder: (folder / INDEX).unlink(), FileNotFoundError, f"one holds {ONE}, {TWO}"),
        (place(d=TWO), ValueError, f"{TWO} must hold .* got a file without d"),
        (place(b=None), ValueError, f"{ONE} must hold .* got a file with b"),
        (place(b=TWO), ValueError, f"{ONE} must hold .* got a file with b"),
        (place(b=7), ValueError, f"{INDEX} must say weight_map, files by tensor, got {{'a'"),
        (write(INDEX, b"{}"), ValueError, f"{INDEX} must say weight_map, .* got None"),
        (write(INDEX, b"{"), ValueError, f"{INDEX} must be JSON"),
        (write(INDEX, POINTER), ValueError, f"{INDEX} must be the file itself, got the pointer"),
        (write(TWO, POINTER), ValueError, f"{TWO} must be the file itself, got the pointer"),
        (write(TWO, b""), ValueError, f"{TWO} must be a whole safetensors file, got .*again"),
        (write(TWO, b"PK" + bytes(99)), ValueError, f"{TWO} must be a whole safetensors file"),
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


@pytest.mark.parametrize("said", ["int8", "auto", 16])
def test_a_dtype_that_no_model_computes_in_is_refused(parts, said):
    with pytest.raises(ValueError, match=r"config.json must say dtype = 'float32' or .*, got "):
        read_weights(parts, Config({"dtype": said}, "config.json"))


@pytest.mark.parametrize(
    "read", [read_config, read_tokenizer, lambda folder: read_weights(folder, Config({}, ""))]
)
def test_a_missing_file_is_named_with_what_is_there(tmp_path, read):
    with pytest.raises(FileNotFoundError, match=r"This one holds nothing\. Nothing is downloaded"):
        read(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"there is no .*gpt2"):
        read(tmp_path / "gpt2")


def test_another_form_of_weights_is_named(tmp_path):
    (tmp_path / "pytorch_model.bin").write_bytes(b"PK")
    with pytest.raises(FileNotFoundError, match=r"no .*model\.safetensors\. .* pytorch_model\.bin"):
        read_weights(tmp_path, Config({}, "config.json"))


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
    ],
)
def test_a_missing_package_is_named(monkeypatch, parts, name, read):
    (parts / "tokenizer.json").write_text("{}", "utf-8")
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=f"takes the package {name}: pip install {name}"):
        read(parts)
