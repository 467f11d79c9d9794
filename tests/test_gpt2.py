"""GPT-2's files in the taught classes: the numbers of ``transformers``, and what is refused."""

import copy
import json

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers

from chapter3_helpers.gpt2 import load_gpt2, read_tokenizer
from chapter3_helpers.real_heads import head_scores
from chapter3_helpers.real_model import likeliest_ids, write
from chapter3_helpers.sentence import TOKENS
from chapter3_helpers.transformer_block import GPT
from tests.gguf_files import byte_tokenizer
from tools.notebook_files import NOTEBOOKS, code_cells, read

CONTEXT = 40
SIZES = {  # three shapes, and every setting that is obeyed
    "one wide head": {"n_embd": 12, "n_layer": 1, "n_head": 1, "vocab_size": 30},
    "own head": {"n_embd": 48, "n_layer": 3, "n_head": 4, "tie_word_embeddings": False},
    "narrow": {"n_embd": 24, "n_layer": 2, "n_head": 6, "n_inner": 17, "layer_norm_epsilon": 0.1},
}


@pytest.fixture(scope="module", params=SIZES)
def theirs(request):
    """A GPT-2 of random numbers, large enough that every part of it is seen in the logits."""
    config = transformers.GPT2Config(
        **{"vocab_size": 50, "n_positions": CONTEXT, "bos_token_id": 0, "eos_token_id": None}
        | SIZES[request.param]
    )
    config._attn_implementation = "eager"
    torch.manual_seed(1)
    model = transformers.GPT2LMHeadModel(config).eval().requires_grad_(False)
    for parameter in model.parameters():
        parameter.add_(torch.randn_like(parameter), alpha=0.3)
    return model


@pytest.fixture(params=["save_pretrained", "published"])
def folder(request, theirs, tmp_path):
    theirs.save_pretrained(tmp_path)
    if request.param == "published":
        publish(tmp_path)
    return tmp_path


def publish(folder):
    """Write a file anew under the names that were published: no prefix, and masks beside."""
    stored = load_file(folder / "model.safetensors")
    stored = {name.removeprefix("transformer."): tensor for name, tensor in stored.items()}
    mask = torch.ones(1, 1, CONTEXT, CONTEXT).tril()
    for name in [name for name in stored if name.endswith("ln_1.bias")]:
        stored[name.replace("ln_1.bias", "attn.bias")] = mask.clone()
    save_file(stored, folder / "model.safetensors")


def test_logits_weights_and_generated_tokens_are_theirs(theirs, folder):
    ours = load_gpt2(folder)
    assert not any(module.training for module in ours.modules())
    assert (ours.output.weight is ours.embedding.weight) == theirs.config.tie_word_embeddings
    ids = torch.randint(30, (2, CONTEXT))
    expected = theirs(ids, output_attentions=True)
    torch.testing.assert_close(ours(ids), expected.logits, atol=1e-4, rtol=1e-5)
    for weights, wanted in zip(ours.attention_weights(ids), expected.attentions, strict=True):
        torch.testing.assert_close(weights, wanted, atol=1e-5, rtol=0)
    written = ids[:, :9]
    wanted = theirs.generate(written, max_new_tokens=20, do_sample=False, use_cache=False)
    assert [[*likeliest_ids(ours, text, 20)] for text in written] == wanted[:, 9:].tolist()


def test_a_gpt_writes_as_a_llama_does_and_its_heads_are_measured():
    torch.manual_seed(1)
    model, tokenizer = GPT(256, 12, CONTEXT, num_layers=2, num_heads=3).eval(), byte_tokenizer()
    ids = tokenizer.encode("say it").ids
    assert head_scores(model, torch.tensor(ids))["first token"].shape == (2, 3)
    for _ in range(20):
        ids.append(model(torch.tensor(ids))[-1].argmax().item())
    new = write(model, tokenizer, "say it", max_new_tokens=20)
    assert new == tokenizer.decode(ids).removeprefix("say it")


# what is refused


@pytest.fixture
def files(tmp_path):
    """A small GPT-2 in its files."""
    config = transformers.GPT2Config(
        n_embd=6, n_layer=2, n_head=2, vocab_size=11, n_positions=CONTEXT
    )
    transformers.GPT2LMHeadModel(config).save_pretrained(tmp_path)
    return tmp_path


def change_config(files, **changes):
    config = json.loads((files / "config.json").read_text("utf-8")) | changes
    (files / "config.json").write_text(json.dumps(config), "utf-8")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("model_type", "llama", "must say model_type = 'gpt2', got 'llama'"),
        ("activation_function", "relu", "= 'gelu_new' or 'gelu_pytorch_tanh', got 'relu'"),
        ("scale_attn_weights", False, "must say scale_attn_weights = True, got False"),
        ("scale_attn_by_inverse_layer_idx", True, "scale_attn_by_inverse_layer_idx = False"),
        ("add_cross_attention", True, "must say add_cross_attention = False, got True"),
        ("n_head", 4, "config.json must say sizes that go together: d_out .* got 6 and 4"),
        ("n_layer", 3, "must hold h.2.ln_1.weight for the sizes that it says, got none"),
        ("n_embd", 8, r"must hold wte.weight as \(11, 8\), for the sizes .*, got \(11, 6\)"),
        ("n_inner", 20, r"must hold h.0.mlp.c_fc.weight as \(20, 6\), .*, got \(24, 6\)"),
        ("tie_word_embeddings", False, "must hold lm_head.weight for the sizes"),
    ],
)
def test_a_config_of_another_model_is_refused(files, name, value, words):
    change_config(files, **{name: value})
    with pytest.raises(ValueError, match=words):
        load_gpt2(files)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda stored: stored.pop("transformer.h.1.mlp.c_proj.bias"), "c_proj.bias .*, got none"),
        (
            lambda stored: stored.update({"transformer.wpe.weight": torch.ones(40, 6).char()}),
            "must hold wpe.weight in floating point, got torch.int8",
        ),
    ],
)
def test_weights_that_are_no_gpt2_are_refused(files, change, words):
    stored = load_file(files / "model.safetensors")
    change(stored)
    save_file(stored, files / "model.safetensors")
    with pytest.raises(ValueError, match=words):
        load_gpt2(files)


def test_other_usual_forms_of_the_files_are_read(theirs, tmp_path):
    """In several parts, settings as floats, a part of the numbers in half precision."""
    theirs = copy.deepcopy(theirs).half()
    theirs.save_pretrained(tmp_path, max_shard_size="2KB")
    assert not (tmp_path / "model.safetensors").exists()
    for path in tmp_path.glob("*.safetensors"):
        stored = load_file(path)
        stored = {name: t.float() if name.endswith("bias") else t for name, t in stored.items()}
        save_file(stored, path, {"format": "pt"})
    change_config(tmp_path, n_layer=float(theirs.config.n_layer))
    ours, ids = load_gpt2(tmp_path), torch.randint(30, (2, CONTEXT))
    assert ours(ids).dtype == torch.float16
    expected = theirs.float()(ids).logits
    torch.testing.assert_close(ours.float()(ids), expected, atol=1e-4, rtol=1e-5)


def test_an_output_layer_that_differs_from_the_embedding_is_kept(files):
    """``transformers`` keeps it too, though the config says that they are one."""
    stored = load_file(files / "model.safetensors")
    stored["lm_head.weight"] = torch.randn(11, 6)
    save_file(stored, files / "model.safetensors")
    assert load_gpt2(files).output.weight.equal(stored["lm_head.weight"])


@pytest.mark.parametrize("there", [True, False])
def test_the_notebook_lets_a_folder_write_or_says_that_there_is_none(
    there, files, monkeypatch, capsys
):
    """With random numbers: nobody has the weights here."""
    cells = [cell.source for cell in code_cells(read(NOTEBOOKS / "15_real_model.ipynb"))]
    (cell,) = [source for source in cells if "load_gpt2" in source]
    words = [*TOKENS, *"abcde"]  # as many as the model knows
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(files / "tokenizer.json"))
    if there:
        (files / "gpt2").mkdir()
        for path in files.glob("*.*"):
            path.rename(files / "gpt2" / path.name)
    monkeypatch.chdir(files)
    exec(cell, {"torch": torch, "read_tokenizer": read_tokenizer})
    said = capsys.readouterr().out.split()
    if there:
        assert tuple(said[:6]) == TOKENS
        assert len(said) == 6 + 20
    else:
        assert "There is no folder gpt2" in " ".join(said)
