"""The heads of any model: what is taken for weights, what is measured, what is shown."""

import base64
import io
import re

import numpy as np
import pytest
import torch
from PIL import Image

from chapter3_helpers.explorers import model_explorer
from chapter3_helpers.explorers.core.panels import Bars, Matrix, Note, render
from chapter3_helpers.explorers.model.measures import measure
from chapter3_helpers.explorers.model.montage import Large
from chapter3_helpers.explorers.model.reading import read_weights
from chapter3_helpers.masking import causal_mask
from tests.explorers import find, run

L, H, T, S = 2, 3, 5, 7
TOKENS, KEYS = [*"abcab"], [*"vwxyzvw"]


def softmaxed(*shape: int, causal: bool = True, seed: int = 0) -> torch.Tensor:
    scores = 2 * torch.randn(shape, generator=torch.manual_seed(seed))
    if causal:
        scores = scores.masked_fill(causal_mask(shape[-1]), -torch.inf)
    return scores.softmax(-1)


WEIGHTS = softmaxed(L, H, T, T)
CROSS = softmaxed(L, H, T, S, causal=False)


def generated(weights: torch.Tensor, prompt: int) -> tuple:
    """Cut weights (L, H, T, T) into what generate() returns: a step for the prompt, one a token."""
    ends = range(prompt, weights.shape[-1] + 1)
    starts = [0, *ends[:-1]]
    return tuple(
        tuple(layer[None, :, start:end, :end] for layer in weights)
        for start, end in zip(starts, ends, strict=True)
    )


@pytest.mark.parametrize(
    ("handed", "expected"),
    [
        (WEIGHTS, WEIGHTS),
        (WEIGHTS.numpy(), WEIGHTS),
        (WEIGHTS[:, None], WEIGHTS),  # as torch.stack makes it
        ([layer[None] for layer in WEIGHTS], WEIGHTS),
        (tuple(WEIGHTS), WEIGHTS),
        (WEIGHTS.clone().requires_grad_(), WEIGHTS),
        (WEIGHTS[1], WEIGHTS[1:]),
        (WEIGHTS[1, 2], WEIGHTS[1:, 2:]),
        (list(WEIGHTS[:, 0]), WEIGHTS[:, :1]),  # a head a layer
        (generated(WEIGHTS, 3), WEIGHTS),
        (generated(WEIGHTS, 5), WEIGHTS),
        ([WEIGHTS.double()[0]], WEIGHTS[:1]),
        (WEIGHTS.to(torch.bfloat16), WEIGHTS.to(torch.bfloat16).float()),
    ],
)
def test_numbers_are_those_that_were_passed(handed, expected):
    read = read_weights(handed, TOKENS)
    assert torch.equal(torch.stack(read.layers), expected)
    assert (read.tokens, read.keys) == (tuple(TOKENS), tuple(TOKENS))
    assert read.causal


def test_layers_are_counted_as_handed_over_also_where_some_have_no_attention():
    handed = [None, WEIGHTS[0][None], None, WEIGHTS[1, :2][None]]
    subject = model_explorer(handed, TOKENS, layer=1, head=1)
    assert "Layer 3, head 1" in find(Note, subject.panels(subject.settings)).text
    assert find(Matrix, subject.panels(subject.settings)).values.equal(WEIGHTS[1, 1])
    with pytest.raises(ValueError, match="head must be a value"):
        subject.set(head=2)  # which only the first has


def test_what_was_generated_is_read_with_and_without_its_last_token():
    handed = generated(WEIGHTS, 3)
    for last in ([], ["end"]):
        read = read_weights(handed, TOKENS + last)
        assert (read.tokens, read.unread) == (tuple(TOKENS), tuple(last))
    said = find(Note, model_explorer(handed, [*TOKENS, "end"]).panels(_start(handed))).text
    assert "“end” was generated last and has no row yet" in said
    across = [[layer[None, :, row : row + 1] for layer in CROSS] for row in range(T)]
    read = read_weights(across, [*TOKENS, "end"], KEYS)
    assert torch.equal(torch.stack(read.layers), CROSS)
    wider = [
        [torch.nn.functional.pad(layer, (0, 9 - layer.shape[-1])) for layer in s] for s in handed
    ]
    assert torch.equal(torch.stack(read_weights(wider, TOKENS).layers), WEIGHTS)  # a static cache


def _start(handed):
    return model_explorer(handed, [*TOKENS, "end"]).settings


def changed(value: float, place: tuple = (0, 1, 3, 2)) -> torch.Tensor:
    weights = WEIGHTS.clone()
    weights[place] = value
    return weights


class Output:
    attentions = WEIGHTS


@pytest.mark.parametrize(
    ("weights", "tokens", "keys", "words"),
    [
        (None, TOKENS, None, 'attn_implementation="eager"'),
        ((), TOKENS, None, 'attn_implementation="eager"'),
        ((None, None), TOKENS, None, 'attn_implementation="eager"'),
        (((None, None), (None, None)), TOKENS, None, 'attn_implementation="eager"'),
        (Output(), TOKENS, None, "Output: pass its attentions"),
        ({"a": 1}, TOKENS, None, "got dict"),
        ([1.0], TOKENS, None, "got float for layer 0"),
        ([[1.0]], TOKENS, None, "a step with float"),
        (WEIGHTS[0, 0, 0], TOKENS, None, "for layer 0"),
        (WEIGHTS[..., :0], TOKENS, None, "(3, 5, 0) for layer 0"),
        (WEIGHTS.to("meta"), TOKENS, None, "layer 0 is on the meta device"),
        (WEIGHTS.to(torch.complex64), TOKENS, None, "real numbers, got complex64"),
        (changed(float("nan")), TOKENS, None, "layer 0, head 1, row 3 holds NaN"),
        (changed(-0.5), TOKENS, None, "layer 0 has -0.5: were scores passed?"),
        (changed(2.0), TOKENS, None, "call eval()"),
        ([WEIGHTS, WEIGHTS], TOKENS, None, "one text, got 2 in layer 0"),
        ([[WEIGHTS], [WEIGHTS]], TOKENS, None, "num_beams=1"),
        ([WEIGHTS[0], CROSS[0]], TOKENS, None, "(5, 5) in layer 0, (5, 7) in layer 1"),
        (CROSS, TOKENS, None, "pass the tokens of that text as keys"),
        (CROSS, TOKENS, KEYS[1:], "keys must be 7"),
        (WEIGHTS, TOKENS[1:], None, "tokens must be 5, one for each row of weights, got 4"),
        (WEIGHTS, [*TOKENS, "end"], None, "tokens must be 5"),  # nothing was generated
        (WEIGHTS, torch.arange(5), None, "convert_ids_to_tokens"),
        (WEIGHTS, [1, 2, 3, 4, 5], None, "convert_ids_to_tokens"),
        ([[w[..., -2:] for w in s] for s in generated(WEIGHTS, 3)], TOKENS, None, "forgets older"),
        ([[CROSS[:1, :, :1]]] * 5, TOKENS, None, "pass its tokens as keys"),
        ([[WEIGHTS[:1]], [WEIGHTS[:1]] * 2], TOKENS, None, "the same number of layers"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_what_to_do(weights, tokens, keys, words):
    with pytest.raises((TypeError, ValueError), match=re.escape(words)):
        model_explorer(weights, tokens, keys)


def by_hand(tokens: str) -> dict[str, torch.Tensor]:
    """Return what heads that do one thing alone would weigh, (T, T) each."""
    T = len(tokens)
    induction = torch.eye(T)[
        torch.zeros(T, dtype=torch.long)
    ]  # without an earlier place: the first
    for row in range(T):
        if (last := tokens.rfind(tokens[row], 0, row)) >= 0:
            induction[row] = torch.eye(T)[last + 1]
    return {
        "token before": torch.cat([torch.eye(T)[:1], torch.eye(T)[:-1]]),
        "first token": torch.eye(T)[[0] * T],
        "itself": torch.eye(T),
        "induction": induction,
        "evenness": torch.ones(T, T).tril() / torch.arange(1, T + 1)[:, None],
    }


def test_heads_made_by_hand_are_measured_as_what_they_are():
    tokens = "abcdabce"  # rows 4, 5, 6 have an earlier place
    heads = by_hand(tokens)
    found = measure([torch.stack([*heads.values()])], tokens, range(8), cross=False, causal=True)
    assert found.names == tuple(heads)
    assert found.rows.tolist() == [[7, 7, 7, 3, 7]] * 5
    expected = [
        [1, 1 / 7, 0, 0, 0],  # of row 1 the token before is the first one
        [1 / 7, 1, 0, 0, 0],
        [0, 0, 1, 0, 0],
        [1 / 7, 4 / 7, 0, 1, 0],  # where it finds none it looks at the first
        [sum(1 / n for n in range(2, 9)) / 7] * 3 + [(1 / 5 + 1 / 6 + 1 / 7) / 3, 1],
    ]
    torch.testing.assert_close(found.values, torch.tensor(expected), atol=1e-5, rtol=0)
    assert [found.order(name)[0] for name in heads] == [0, 1, 2, 3, 4]


def test_what_cannot_happen_has_no_number():
    subject = model_explorer(WEIGHTS, [*"abcde"])
    found = subject.state(subject.settings).measures
    assert found.rows[0].tolist() == [4, 4, 4, 0, 4]
    assert found.values[:, 3].isnan().all()
    assert subject.view.value.count("<td>–</td>") == 1
    assert "no row" in subject.view.value
    subject.set(sort="induction")  # in some order
    one = model_explorer(torch.ones(1, 1, 1, 1), ["alone"])
    assert one.view.value.count("<td>–</td>") == 5


def test_a_token_that_stands_twice_in_a_row_and_every_earlier_place_count():
    weights = torch.tensor([[[0.1, 0.2, 0.3, 0.4]]]).expand(1, 4, 4)
    found = measure([weights], "xaaa", range(4), cross=False, causal=False)
    assert found.values[0, 3].item() == pytest.approx((0.3 + (0.3 + 0.4)) / 2)


def test_attention_to_another_text_is_measured_by_evenness_alone():
    subject = model_explorer(CROSS, TOKENS, KEYS)
    found = subject.state(subject.settings).measures
    assert (found.names, found.rows[0].tolist()) == (("evenness",), [5])
    matrix = find(Matrix, subject.panels(subject.settings))
    assert matrix.columns[-1] == "6 w"
    assert not np.any(matrix.hidden)
    entropy = -(CROSS * CROSS.log()).sum(-1).mean(-1).flatten() / np.log(S)
    torch.testing.assert_close(found.values[:, 0], entropy)


def test_what_is_missing_from_a_row_goes_to_no_token():
    subject = model_explorer(0.75 * WEIGHTS, TOKENS)
    found = subject.state(subject.settings).measures
    assert found.names[-1] == "no token"
    torch.testing.assert_close(found.values[:, -1], torch.full((6,), 0.25))
    even = model_explorer(WEIGHTS, TOKENS)
    before = even.state(even.settings).measures.values[:, 4]
    torch.testing.assert_close(found.values[:, 4], before)  # among those that get any
    bars = find(Bars, subject.panels(subject.settings))
    assert (bars.labels[-1], bars.values[-1]) == ("to no token", pytest.approx(0.25))
    assert "0.25 goes to no token" in find(Note, subject.panels(subject.settings)).text


def test_of_a_long_row_the_largest_weights_are_listed_in_order_and_the_others_summed():
    weights = softmaxed(1, 2, 30, 30).sqrt()
    weights /= weights.sum(-1, keepdim=True)
    weights[0, 1, 5:] = 0  # from row 5 on to no token
    weights[0, 1, 10:12, 2:5] = torch.tensor([0.996, 0.004, 0])
    weights[0, 1, 11, 6:8] = 0.004
    subject = model_explorer(weights, ["a"] * 30, row=20)
    bars, row = find(Bars, subject.panels(subject.settings)), weights[0, 0, 20]
    largest = sorted(row.argsort(descending=True)[:12].tolist())
    assert bars.labels == [*(f"{place} a" for place in largest), "9 others"]
    assert bars.numbers == largest
    torch.testing.assert_close(torch.tensor(bars.values[:12]), row[largest])
    assert sum(bars.values) == pytest.approx(1)
    subject.set(head=1)
    bars = find(Bars, subject.panels(subject.settings))
    assert (bars.labels, bars.values) == (["to no token"], [1])
    subject.set(row=10)  # what is written as 0.00 is left out
    assert find(Bars, subject.panels(subject.settings)).labels == ["2 a"]
    subject.set(row=11)
    bars = find(Bars, subject.panels(subject.settings))
    assert (bars.labels, bars.values[-1]) == (["2 a", "11 others"], pytest.approx(0.012, abs=1e-5))
    nothing = model_explorer(
        torch.zeros(1, 2, 3, 3) + torch.eye(3) * torch.tensor([0, 1])[:, None, None], [*"abc"]
    )
    assert nothing.state(nothing.settings).measures.order("evenness") == [
        1,
        0,
    ]  # the first has none


def pixels(shown: str) -> np.ndarray:
    """Return the places in the palette of the picture in some HTML."""
    (address,) = re.findall(r'href="data:image/png;base64,([^"]*)"', shown)
    return np.array(Image.open(io.BytesIO(base64.b64decode(address))))


def test_a_small_picture_shows_the_largest_weight_of_each_block_and_stays():
    heads = torch.stack([*by_hand("ab" * 150).values()])[[0, 4]]
    subject = model_explorer(heads.expand(12, 2, 300, 300), ["a", "b"] * 150)
    picture, frame = (part.value for part in subject.places["head"].children)
    places = pixels(picture)
    tile = places[:31, :31]
    assert (np.diag(tile) == 100).all()  # by the nearest pixel most of it would be white
    assert ((tile == 101) == ~np.tri(31, dtype=bool)).all()
    subject.set(layer=7, head=1)
    assert subject.places["head"].children[0].value == picture
    assert subject.places["head"].children[1].value != frame
    assert len(render(subject.panels(subject.settings))) < 60_000
    first = subject.state({**subject.settings, "layer": 0, "head": 0})
    assert first.tiles is subject.state(subject.settings).tiles  # another head needs no other
    large = find(Large, subject.panels(subject.settings))
    assert torch.equal(large.weights, heads[1])
    assert pixels(large.html()).shape == (300, 300)


def test_what_does_not_fit_into_one_picture_is_shown_in_parts_that_are_named():
    weights = torch.zeros(1, 1, 301, 301)
    weights[..., 0] = 1  # all look at the first token
    subject = model_explorer(weights, ["a"] * 301)
    assert [c.name for c in subject.controls if c.is_shown(subject.settings)] == [
        *("sort", "rows", "columns", "head")
    ]
    assert "Shown are rows 0 to 299 of 301, columns 0 to 299 of 301." in subject.view.value
    subject.set(rows=range(300, 301), columns=range(300, 301))
    state = subject.state(subject.settings)
    assert (subject.settings["row"], state.window.shape) == (300, (1, 1))
    assert state.measures.values[0, 1] == 1  # on a token that is not drawn
    assert find(Bars, subject.panels(subject.settings)).labels[0] == "0 a"
    heads = model_explorer([torch.ones(1, 1, 1)] * 1025, ["a"])
    assert "Shown are layers 0 to 1023 of 1,025." in heads.view.value
    heads.set(layers=range(1024, 1025))
    assert "Layer 1024, head 0" in heads.view.value


def test_the_lines_of_python_give_what_is_shown():
    subject = model_explorer(WEIGHTS, TOKENS, head=2)
    lines, _ = subject.code(subject.settings).split("\n\n#", 1)
    found = run(lines.splitlines(), weights=WEIGHTS, tokens=TOKENS, keys=None)["state"]
    assert torch.equal(found.weights, WEIGHTS[0, 2])
    assert torch.equal(found.measures.values, subject.state(subject.settings).measures.values)


def test_a_click_in_the_list_or_the_picture_chooses_and_once_more_changes_nothing():
    subject = model_explorer(WEIGHTS, TOKENS, sort="evenness")
    order = subject.state(subject.settings).measures.order("evenness")
    listed = re.findall(r'data-click="{&quot;layer&quot;: (.), &quot;head', subject.view.value)
    assert listed == [str(number // H) for number in order]
    for _ in range(2):
        subject.click({"layer": 1, "head": 2})
        subject.click({"row": 3})
        chosen = find(Matrix, subject.panels(subject.settings))
        assert (chosen.title, chosen.marked_row) == ("layer 1, head 2", 3)
    before = subject.settings
    subject.click({"layer": 0, "head": 7})  # there is none
    assert subject.settings == before


def test_the_back_row_sees_a_large_picture_its_row_and_the_listed_heads_side_by_side():
    subject = model_explorer(softmaxed(1, 9, 20, 20), ["a"] * 20, sort="evenness", head=8)
    shown = render(subject.panels(subject.settings), present=True)
    assert len(pixels(shown)) == 20
    assert "where 19 a looks" in shown
    assert "1 the same on every token" not in shown
    table = re.search(r'<table class="c3m c3rank">.*?</table>', shown)[0]
    measures = subject.state(subject.settings).measures
    order = measures.order("evenness")[:6]
    order += [8] * (8 not in order)
    assert re.findall(r">0, (.)</th>", table) == [str(head) for head in order]
    values = [f"{measures.values[head, -1]:.2f}" for head in order]
    assert re.findall(r">(0\.\d\d)</td>", table) == values
    assert table.count("&quot;head&quot;: 8}") == 2  # the name and the number


TEXTS = ["<b>&'\"", "Ġthe", "<|endoftext|>", "我", "שלום", "", "\n\t", "x" * 500]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("count", [2, 17, 25])  # as a table, with lines, as a running text
def test_any_token_is_shown_as_text_on_one_line(text, count):
    shown = model_explorer(torch.eye(count), [text] * count).view.value
    assert "<b>" not in shown
    assert not re.search(r"[\n\t]", shown)
    assert len(shown) < 60_000
    assert "(empty)" in shown or text


@pytest.fixture(scope="module")
def models():
    """Random models of transformers: grouped heads, no mask, an encoder with a decoder."""
    import transformers as t

    torch.manual_seed(0)
    sizes = {"vocab_size": 50, "attn_implementation": "eager"}
    one = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    two = {f"{part}_{name}": 4 for part in ("encoder", "decoder") for name in ("ffn_dim", "layers")}
    two |= {"encoder_attention_heads": 4, "decoder_attention_heads": 4, "d_model": 16}
    llama = t.LlamaConfig(**sizes, **one, intermediate_size=32, num_key_value_heads=2)
    bert = t.BertConfig(**sizes, **one, intermediate_size=32)
    bart = t.BartConfig(**sizes, **two, max_position_embeddings=32, forced_eos_token_id=None)
    return {
        "llama": t.LlamaForCausalLM(llama).eval(),
        "bert": t.BertModel(bert).eval(),
        "bart": t.BartForConditionalGeneration(bart).eval(),
    }


IDS = torch.tensor([[5, 9, 17, 9, 33, 5]])
WORDS = ["Ġa", "Ġb", "Ġc", "Ġb", "Ġd", "Ġa"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_models_of_transformers_are_shown_as_they_are(models, dtype):
    for name, causal in (("llama", True), ("bert", False)):
        with torch.no_grad():
            handed = models[name].to(dtype)(IDS, output_attentions=True).attentions
        models[name].float()
        subject = model_explorer(handed, WORDS, layer=1, head=3)
        state = subject.state(subject.settings)
        assert (len(state.read.layers), len(state.read.layers[0])) == (2, 4)  # query heads
        assert torch.equal(state.weights, handed[1][0, 3].float())
        assert state.read.causal is causal


def test_an_encoder_and_a_decoder_of_transformers(models):
    start = torch.tensor([[2, 7, 8]])
    out = models["bart"](IDS, decoder_input_ids=start, output_attentions=True)
    subject = model_explorer(out.cross_attentions, ["<s>", "x", "y"], WORDS, layer=3, head=2)
    shown = find(Matrix, subject.panels(subject.settings))
    assert torch.equal(shown.values, out.cross_attentions[3][0, 2])
    assert (shown.rows[1], shown.columns[-1]) == ("1 x", "5 Ġa")
    assert not read_weights(out.encoder_attentions, WORDS).causal
    assert read_weights(out.decoder_attentions, ["<s>", "x", "y"]).causal


@pytest.mark.parametrize("cache", [None, "static"])
def test_generated_tokens_have_the_weights_of_the_whole_text_read_at_once(models, cache):
    words = {"output_attentions": True, "return_dict_in_generate": True, "do_sample": False}
    words |= {"max_new_tokens": 5, "eos_token_id": None}
    out = models["llama"].generate(IDS, cache_implementation=cache, **words)
    tokens = [str(number) for number in out.sequences[0].tolist()]
    read = read_weights(out.attentions, tokens)
    again = models["llama"](out.sequences[:, :-1], output_attentions=True).attentions
    for found, layer in zip(read.layers, again, strict=True):
        torch.testing.assert_close(found, layer[0])
    assert read.unread == (tokens[-1],)
    if cache is None:
        out = models["bart"].generate(IDS, **words, num_beams=1)
        written = [str(number) for number in out.sequences[0].tolist()]
        cross = read_weights(out.cross_attentions, written, WORDS)
        assert cross.layers[0].shape == (4, 5, 6)
        beams = models["bart"].generate(IDS, **words, num_beams=2)
        with pytest.raises(ValueError, match="num_beams=1"):
            read_weights(beams.cross_attentions, written, WORDS)
