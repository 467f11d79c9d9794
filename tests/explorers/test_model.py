"""The heads of any model: what is taken for weights, what is measured, what is shown."""

import base64
import html
import io
import itertools
import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import transformers
from PIL import Image

from chapter3_helpers.explorers import model_explorer
from chapter3_helpers.explorers.core.panels import Bars, Matrix, Note, render
from chapter3_helpers.explorers.model.measures import measure
from chapter3_helpers.explorers.model.montage import Large, Montage
from chapter3_helpers.explorers.model.reading import read_weights
from chapter3_helpers.explorers.model.text import Text
from chapter3_helpers.explorers.model.tokens import readable
from chapter3_helpers.masking import causal_mask
from tests.explorers import find, panel_of, run, state_of

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
    assert "Layer 3, head 1" in panel_of(subject, Note).text
    assert panel_of(subject, Matrix).values.equal(WEIGHTS[1, 1])
    with pytest.raises(ValueError, match="head must be a value"):
        subject.set(head=2)  # which only the first has


def test_what_was_generated_is_read_with_and_without_its_last_token():
    handed = generated(WEIGHTS, 3)
    for last in ([], ["end"]):
        read = read_weights(handed, TOKENS + last)
        assert (read.tokens, read.unread) == (tuple(TOKENS), tuple(last))
    said = panel_of(model_explorer(handed, [*TOKENS, "end"]), Note).text
    assert "“end” was generated last and has no row yet" in said
    across = [[layer[None, :, row : row + 1] for layer in CROSS] for row in range(T)]
    read = read_weights(across, [*TOKENS, "end"], KEYS)
    assert torch.equal(torch.stack(read.layers), CROSS)
    wider = [
        [torch.nn.functional.pad(layer, (0, 9 - layer.shape[-1])) for layer in s] for s in handed
    ]
    assert torch.equal(torch.stack(read_weights(wider, TOKENS).layers), WEIGHTS)  # a static cache


def after(cached: int, weights: torch.Tensor = WEIGHTS) -> list[torch.Tensor]:
    """What a model returns that had read so many tokens before."""
    return [layer[None, :, cached:] for layer in weights]


@pytest.mark.parametrize(
    ("handed", "tokens", "first"),
    [
        (after(3), TOKENS, 3),
        (after(4), TOKENS, 4),  # one row
        (WEIGHTS[:, :, 2:], TOKENS, 2),
        ([[layer[:, :, :2, :4] for layer in after(2)], after(4)], TOKENS, 2),  # two, then one
        ([[layer[:, :, :2, :4] for layer in after(2)], after(4)], [*TOKENS, "end"], 2),
        ([after(3)], TOKENS, 3),
        ([[torch.nn.functional.pad(layer, (0, 4)) for layer in after(3)]], TOKENS, 3),  # with room
    ],
)
def test_rows_behind_a_filled_cache_are_those_of_the_last_tokens(handed, tokens, first):
    read = read_weights(handed, tokens)
    assert torch.equal(torch.stack(read.layers), WEIGHTS[:, :, first:])
    assert (read.first, read.tokens, read.keys) == (first, tuple(TOKENS), tuple(TOKENS))
    assert read.causal
    subject = model_explorer(handed, tokens, layer=1, head=2, row=0)
    panels = subject.panels(subject.settings)
    shown = find(Matrix, panels)
    assert shown.rows == [f"{n} {token}" for n, token in enumerate(TOKENS)][first:]
    assert (np.asarray(shown.hidden) == np.triu(np.ones((T, T), bool), 1)[first:]).all()
    row = find(Bars, panels)
    assert row.title == f"where {first} {TOKENS[first]} looks"
    torch.testing.assert_close(torch.tensor(row.values), WEIGHTS[1, 2, first, : first + 1])
    whole = measure([*WEIGHTS], TOKENS, range(first, T), cross=False, causal=True)
    torch.testing.assert_close(state_of(subject).measures, whole, equal_nan=True)


def test_keys_that_are_the_text_itself_are_no_other_text():
    steps = [[layer[:, :, :2, :4] for layer in after(2)], after(4)]
    for handed, tokens in ((after(3), TOKENS[3:]), (steps, TOKENS[2:]), (steps, TOKENS)):
        read = read_weights(handed, tokens, TOKENS)
        assert (read.cross, read.tokens) == (False, tuple(TOKENS))
    ends_alike = read_weights(CROSS, KEYS[-T:], KEYS)  # which looks at later keys
    one_row = read_weights(CROSS[:, :, :1], KEYS[-1:], KEYS)
    assert (ends_alike.cross, one_row.cross) == (True, True)


def test_a_long_text_behind_a_filled_cache_is_clicked_by_its_rows():
    weights, tokens = softmaxed(1, 2, 40, 40), [f"t{n}" for n in range(40)]
    subject = model_explorer(after(10, weights), tokens, row=29)
    rows, keys = (p for p in subject.panels(subject.settings) if isinstance(p, Text))
    assert (rows.tokens[0], len(rows.tokens), len(keys.tokens)) == ("t10", 30, 40)
    assert 'data-q=29 class=at title="39"' in rows.html()
    large = panel_of(subject, Large)
    assert pixels(large.html())[29, 39] <= 100  # the last one looks at itself
    assert (pixels(large.html())[28, 39], len(large.queries)) == (101, 30)  # it is hidden before


@pytest.mark.parametrize("more", [[], ["end"]])
def test_of_steps_that_each_read_the_whole_text_the_last_is_the_picture(more):
    steps = [[layer[None, :, :end, :end] for layer in WEIGHTS] for end in (3, 4, 5)]
    read = read_weights(steps, TOKENS + more)
    assert torch.equal(torch.stack(read.layers), WEIGHTS)
    across = [[layer[None, :, :end] for layer in CROSS] for end in (1, 2, 3, 4, 5)]
    read = read_weights(across, TOKENS + more, KEYS)
    assert torch.equal(torch.stack(read.layers), CROSS)
    assert read.unread == tuple(more)


BATCH = [torch.stack([layer, layer.roll(1, 0)]) for layer in WEIGHTS]  # two texts, as models do
STEPS = [
    [text[:, :, :3, :3] for text in BATCH],
    *([t[:, :, n : n + 1, : n + 1] for t in BATCH] for n in (3, 4)),
]


@pytest.mark.parametrize(
    ("handed", "keys"),
    [
        (BATCH, None),
        (tuple(BATCH), None),
        ([text.numpy() for text in BATCH], None),
        (torch.stack(BATCH), None),
        (torch.stack(BATCH).numpy(), None),
        ([None, *BATCH, None], None),  # layers of another kind have no attention
        (STEPS, None),
        (tuple(map(tuple, STEPS)), None),
        ([[*step, None] for step in STEPS], None),
        ([[layer.numpy() for layer in step] for step in STEPS], None),
        ([torch.stack(step) for step in STEPS], None),
        ([torch.cat([layer[None]] * 3) for layer in CROSS], KEYS),
        (
            [[layer[None, :, n : n + 1].repeat(2, 1, 1, 1) for layer in CROSS] for n in range(T)],
            KEYS,
        ),
        ((torch.ones(1, 5, 9), None, tuple(WEIGHTS[:, None])), None),  # return_dict=False
        (SimpleNamespace(logits=0, attentions=tuple(WEIGHTS[:, None])), None),
        (SimpleNamespace(logits=0, attentions=tuple(BATCH)), None),
        ({"logits": 0, "attentions": tuple(WEIGHTS[:, None])}, None),
    ],
)
def test_the_line_in_the_message_works_for_what_was_handed_over(handed, keys):
    for _ in range(3):
        try:
            read = read_weights(handed, TOKENS, keys)
            break
        except (TypeError, ValueError) as error:
            (line,) = re.findall(r"(?:as in|attentions,|last part,) (.*?)(?:;|$)", str(error))
            handed = eval(line, {"weights": handed})
    expected = WEIGHTS if keys is None else CROSS
    assert torch.equal(torch.stack(read.layers), expected)


def test_an_encoder_with_a_decoder_has_three_kinds_of_weights_and_a_cache_has_none():
    parts = {f"{part}_attentions": () for part in ("encoder", "decoder", "cross")}
    with pytest.raises(TypeError, match=r"weights\.decoder_attentions or weights\.cross_at"):
        read_weights(SimpleNamespace(**parts), TOKENS)
    with pytest.raises(TypeError, match="it keeps keys and values"):
        read_weights(transformers.DynamicCache(), TOKENS)
    keys_and_values = tuple(torch.randn(2, 1, 3, T, 4, generator=torch.manual_seed(0)))
    with pytest.raises(ValueError, match="keys and values of a cache"):
        read_weights([keys_and_values] * L, TOKENS)


def padded(heads: torch.Tensor, left: int, right: int, value: float | None = None) -> torch.Tensor:
    """Put padding around weights (H, T, T), as eager attention has it: on the left all keys of a
    row are hidden, so that softmax makes it even; on the right a row looks at the text."""
    whole = left + len(heads[0]) + right
    weights = torch.zeros(len(heads), whole, whole)
    weights[:, left : whole - right, left : whole - right] = heads
    weights[:, :left] = 1 / whole if value is None else value
    weights[:, whole - right :, left] = 1
    return weights


TEXT = "abcdabce"


@pytest.mark.parametrize(("left", "right"), [(4, 0), (0, 3), (2, 1)])
def test_padding_counts_in_no_mean_if_a_mask_says_so(left, right):
    heads = torch.stack([*by_hand(TEXT).values()])
    tokens = ["<pad>"] * left + [*TEXT] + ["<pad>"] * right
    mask = torch.tensor([[0] * left + [1] * len(TEXT) + [0] * right])
    expected = measure([heads], TEXT, range(8), cross=False, causal=True)
    handed = padded(heads, left, right)
    for attention_mask in (mask, mask[0].tolist(), mask.bool().numpy(), mask.float()):
        subject = model_explorer(handed[None], tokens, attention_mask=attention_mask)
        torch.testing.assert_close(state_of(subject).measures, expected)
        assert subject.settings["row"] == left + 7, "the last row of text"
    note = panel_of(subject, Note).text
    assert "Padding, which counts in no mean: " in note
    everything = model_explorer(handed[None], tokens, attention_mask=torch.ones(len(tokens)))
    with pytest.raises(AssertionError):
        torch.testing.assert_close(state_of(everything).measures, expected)


@pytest.mark.parametrize("value", [None, 0.0, float("nan")])
@pytest.mark.parametrize("later", [True, False])
def test_rows_that_look_like_padding_are_seen_and_said(value, later):
    heads = torch.stack([*by_hand(TEXT).values()])
    if later:  # as in a model that looks at both sides
        heads[0, 0] = torch.eye(8)[5]
    tokens = ["<pad>"] * 4 + [*TEXT]
    subject = model_explorer([padded(heads, 4, 0, value)], tokens)
    expected = measure([heads], TEXT, range(8), cross=False, causal=not later)
    torch.testing.assert_close(state_of(subject).measures, expected)
    assert state_of(subject).read.causal == (not later)
    note = panel_of(subject, Note).text
    assert "as padding does, count in no mean: 0 to 3. attention_mask would say" in note
    assert "nan" not in subject.view.value
    subject.set(row=1)
    assert sum(panel_of(subject, Bars).values) == pytest.approx(1)


def test_rows_whose_keys_are_hidden_by_a_finite_constant_are_seen():
    scores = torch.randn(2, 3, 7, 7, generator=torch.manual_seed(0))
    hidden = causal_mask(7) | (torch.arange(7) < 3)
    weights = (scores - 1e4 * hidden.float()).softmax(-1)  # the first rows look at all keys
    read = read_weights(weights, ["<pad>"] * 3 + [*"abcd"])
    assert read.is_text.tolist() == [False] * 3 + [True] * 4
    assert read.causal
    later = torch.eye(7).roll(1, 1)
    later[-1] = torch.eye(7)[-1]  # a head that looks at the token behind
    assert read_weights(later, [*"abcdefg"]).is_text.all()


def test_an_even_row_of_text_is_no_padding():
    even = torch.ones(8, 8).tril() / torch.arange(1, 9)[:, None]  # the last one is all even
    for weights in (even, torch.full((2, 3, 8, 8), 1 / 8), torch.eye(2).flip(0) / 2 + 0.25):
        tokens = [*TEXT][: weights.shape[-1]]
        assert read_weights(weights, tokens).is_text.all()
    one = torch.cat([torch.full((1, 3), 1 / 3), torch.eye(3).flip(0)[:2]])
    assert read_weights(one, [*"abc"]).is_text.all(), "in a single head it may be even"


def test_what_a_model_gives_to_padding_is_said_apart():
    weights = torch.zeros(1, 1, 4, 4)
    weights[..., 0], weights[..., 1] = 0.25, 0.75
    subject = model_explorer(weights, ["<pad>", *"abc"], attention_mask=[0, 1, 1, 1])
    found = state_of(subject).measures
    assert [found[name].values for name in ("first token", "padding")] == [0.75, 0.25]
    assert "0.25 goes to padding" in panel_of(subject, Note).text


def test_a_mask_of_the_prompt_of_the_other_text_or_of_what_was_generated_fits():
    handed = generated(WEIGHTS, 3)
    for mask, text in (([0, 1, 1], 4), ([0, 1, 1, 1], 4), ([0, 1, 1, 1, 1, 1], 4), ([1] * 5, 5)):
        read = read_weights(handed, [*TOKENS, "end"], attention_mask=mask)
        assert read.is_text.sum() == text
    keys = read_weights(CROSS, TOKENS, KEYS, attention_mask=[1] * 4 + [0] * 3)
    assert (keys.is_text.sum(), keys.has_text.sum()) == (4, T)
    hidden = CROSS.clone()
    hidden[..., 4:] = 0
    even = model_explorer(hidden, TOKENS, KEYS, attention_mask=[1] * 4 + [0] * 3)
    alone = model_explorer(CROSS[..., :4], TOKENS, KEYS[:4])
    torch.testing.assert_close(state_of(even).measures, state_of(alone).measures)


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        ([1] * 4, "attention_mask must be 5, one for each key, got 4"),
        ([1] * 6, "attention_mask must be 5, one for each key, got 6"),
        ([0] * 5, "must leave some text"),
        ([0.0, 0.0, 0.0, -1e9, -1e9], "1 for text and 0 for padding"),
        (["a"] * 5, "1 for text and 0 for padding"),
        (torch.ones(2, 5), "pass attention_mask[:1]"),
    ],
)
def test_a_mask_that_does_not_fit_is_refused_with_what_to_do(mask, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        model_explorer(WEIGHTS, TOKENS, attention_mask=mask)


def changed(value: float, place: tuple = (0, 1, 3, 2)) -> torch.Tensor:
    weights = WEIGHTS.clone()
    weights[place] = value
    return weights


@pytest.mark.parametrize(
    ("weights", "tokens", "keys", "words"),
    [
        (None, TOKENS, None, 'attn_implementation="eager"'),
        ((None, None), TOKENS, None, 'attn_implementation="eager"'),
        (((None, None), (None, None)), TOKENS, None, 'attn_implementation="eager"'),
        ({"a": 1}, TOKENS, None, "got dict"),
        ([1.0], TOKENS, None, "got float for layer 0"),
        ([[1.0]], TOKENS, None, "got float for layer 0"),
        (WEIGHTS[0, 0, 0], TOKENS, None, "for layer 0"),
        (WEIGHTS[..., :0], TOKENS, None, "(3, 5, 0) for layer 0"),
        (WEIGHTS.to("meta"), TOKENS, None, "layer 0 is on the meta device"),
        (WEIGHTS.to(torch.complex64), TOKENS, None, "real numbers, got complex64"),
        (changed(float("nan")), TOKENS, None, "layer 0, head 1, row 3 holds NaN"),
        (changed(-0.5), TOKENS, None, "layer 0 has -0.5: were scores passed"),
        (changed(2.0), TOKENS, None, "call eval()"),
        ([[WEIGHTS], [WEIGHTS]], TOKENS, None, "num_beams=1"),
        ([WEIGHTS[0], CROSS[0]], TOKENS, None, "(5, 5) in layer 0, (5, 7) in layer 1"),
        (CROSS, TOKENS, None, "pass the tokens of that text as keys"),
        (CROSS, TOKENS, KEYS[1:], "keys must be 7"),
        (WEIGHTS, TOKENS[1:], None, "tokens must be 5, one for each row of weights, got 4"),
        (WEIGHTS, [*TOKENS, "end"], None, "tokens must be 5"),  # nothing was generated
        (WEIGHTS, torch.arange(5), None, "convert_ids_to_tokens"),
        (WEIGHTS, [1, 2, 3, 4, 5], None, "convert_ids_to_tokens"),
        ([[w[..., -2:] for w in s] for s in generated(WEIGHTS, 3)], TOKENS, None, "forgets older"),
        ([[CROSS[:1, :, :1]]] * 5, TOKENS, None, "pass the tokens of that text as keys"),
        ([[WEIGHTS[:1]], [WEIGHTS[:1]] * 2], TOKENS, None, "must hold the same layers"),
        ([w[None, :, -2:] for w in WEIGHTS], TOKENS[-2:], None, "pass all 5 tokens; got 2 tokens"),
        ([w[None, :, -2:] for w in CROSS], KEYS, None, "pass the tokens of that text as keys"),
        ([[WEIGHTS[:1, :, :3, :3]], [CROSS[:1, :, :4, :4]]], TOKENS[:4], None, "go on"),
        (CROSS, TOKENS, [*KEYS, "more"], "keys must be 7, one for each column of weights, got 8"),
        (WEIGHTS, [TOKENS, TOKENS], None, "pass those of one text"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_what_to_do(weights, tokens, keys, words):
    with pytest.raises((TypeError, ValueError), match=re.escape(words)):
        model_explorer(weights, tokens, keys)


def by_hand(tokens: str) -> dict[str, torch.Tensor]:
    """Return what heads that do one thing alone would weigh, (T, T) each."""
    T = len(tokens)
    induction = torch.eye(T)[[0] * T]  # without an earlier place: the first
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
    assert [*found] == [*heads]
    assert [one.rows.tolist() for one in found.values()] == [[n] * 5 for n in (7, 7, 7, 3, 7)]
    expected = [
        [1, 1 / 7, 0, 0, 0],  # of row 1 the token before is the first one
        [1 / 7, 1, 0, 0, 0],
        [0, 0, 1, 0, 0],
        [1 / 7, 4 / 7, 0, 1, 0],  # where it finds none it looks at the first
        [sum(1 / n for n in range(2, 9)) / 7] * 3 + [(1 / 5 + 1 / 6 + 1 / 7) / 3, 1],
    ]
    values = torch.stack([one.values for one in found.values()], dim=-1)  # (heads, measures)
    torch.testing.assert_close(values, torch.tensor(expected), atol=1e-5, rtol=0)
    assert [one.order()[0] for one in found.values()] == [0, 1, 2, 3, 4]


def test_what_cannot_happen_has_no_number():
    subject = model_explorer(WEIGHTS, [*"abcde"])
    found = state_of(subject).measures
    assert [one.rows[0] for one in found.values()] == [4, 4, 4, 0, 4]
    assert found["induction"].values.isnan().all()
    assert subject.view.value.count("<td>–</td>") == 1
    assert "no row" in subject.view.value
    subject.set(sort="induction")  # in some order
    one = model_explorer(torch.ones(1, 1, 1, 1), ["alone"])
    assert one.view.value.count("<td>–</td>") == 5


def test_every_earlier_place_counts_and_the_present_one_does_not():
    weights = torch.tensor([[[0.1, 0.15, 0.2, 0.25, 0.3]]]).expand(1, 5, 5)
    found = measure([weights], "xaaaa", range(5), cross=False, causal=False)
    in_rows_3_and_4 = [0.2, 0.2 + 0.25]
    assert found["induction"].values.item() == pytest.approx(sum(in_rows_3_and_4) / 2)


def test_attention_to_another_text_is_measured_by_evenness_alone():
    subject = model_explorer(CROSS, TOKENS, KEYS)
    ((name, found),) = state_of(subject).measures.items()
    assert (name, found.rows[0]) == ("evenness", 5)
    matrix = panel_of(subject, Matrix)
    assert matrix.columns[-1] == "6 w"
    assert not np.any(matrix.hidden)
    entropy = -(CROSS * CROSS.log()).sum(-1).mean(-1).flatten() / np.log(S)
    torch.testing.assert_close(found.values, entropy)


def test_what_is_missing_from_a_row_goes_to_no_token():
    subject = model_explorer(0.75 * WEIGHTS, TOKENS)
    found = state_of(subject).measures
    torch.testing.assert_close(found["no token"].values, torch.full((6,), 0.25))
    even = state_of(model_explorer(WEIGHTS, TOKENS)).measures["evenness"]
    torch.testing.assert_close(found["evenness"], even)  # among those that get any
    bars = panel_of(subject, Bars)
    assert (bars.labels[-1], bars.values[-1]) == ("to no token", pytest.approx(0.25))
    assert "0.25 goes to no token" in panel_of(subject, Note).text


def test_of_a_long_row_the_largest_weights_are_listed_in_order_and_the_others_summed():
    weights = softmaxed(1, 2, 30, 30).sqrt()
    weights /= weights.sum(-1, keepdim=True)
    weights[0, 1, 5:] = 0  # from row 5 on to no token
    weights[0, 1, 10:12, 2:5] = torch.tensor([0.996, 0.004, 0])
    weights[0, 1, 11, 6:8] = 0.004
    subject = model_explorer(weights, ["a"] * 30, row=20)
    bars, row = panel_of(subject, Bars), weights[0, 0, 20]
    largest = sorted(row.argsort(descending=True)[:12].tolist())
    assert bars.labels == [*(f"{place} a" for place in largest), "9 others"]
    assert bars.numbers == largest
    torch.testing.assert_close(torch.tensor(bars.values[:12]), row[largest])
    assert sum(bars.values) == pytest.approx(1)
    subject.set(head=1)
    bars = panel_of(subject, Bars)
    assert (bars.labels, bars.values) == (["to no token"], [1])
    subject.set(row=10)  # what is written as 0.00 is left out
    assert panel_of(subject, Bars).labels == ["2 a"]
    subject.set(row=11)
    bars = panel_of(subject, Bars)
    assert (bars.labels, bars.values[-1]) == (["2 a", "11 others"], pytest.approx(0.012, abs=1e-5))
    nothing = model_explorer(
        torch.zeros(1, 2, 3, 3) + torch.eye(3) * torch.tensor([0, 1])[:, None, None], [*"abc"]
    )
    assert state_of(nothing).measures["evenness"].order() == [1, 0]  # the first has none


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
    assert first.tiles is state_of(subject).tiles  # another head needs no other
    large = panel_of(subject, Large)
    assert torch.equal(large.weights, heads[1])
    assert pixels(large.html()).shape == (300, 300)


def test_what_does_not_fit_into_one_picture_is_shown_in_parts_that_are_named():
    weights = torch.zeros(1, 1, 301, 301)
    weights[..., 0] = 1  # all look at the first token
    subject = model_explorer(weights, ["a"] * 301)
    assert [c.name for c in subject.controls if c.is_shown(subject.settings)] == [
        *("sort", "without_first", "rows", "columns", "head")
    ]
    assert "Shown are rows 0 to 299 of 301, columns 0 to 299 of 301." in subject.view.value
    subject.set(rows=range(300, 301), columns=range(300, 301))
    state = state_of(subject)
    assert (subject.settings["row"], state.window.shape) == (300, (1, 1))
    assert state.measures["first token"].values == 1  # on a token that is not drawn
    assert panel_of(subject, Bars).labels[0] == "0 a"
    heads = model_explorer([torch.ones(1, 1, 1)] * 1025, ["a"])
    assert "Shown are layers 0 to 1023 of 1,025." in heads.view.value
    heads.set(layers=range(1024, 1025))
    assert "Layer 1024, head 0" in heads.view.value


@pytest.mark.parametrize(
    "handed",
    [
        {"weights": WEIGHTS, "tokens": TOKENS},
        {"weights": CROSS, "tokens": TOKENS, "keys": KEYS},
        {"weights": WEIGHTS, "tokens": TOKENS, "attention_mask": [0, 1, 1, 1, 1]},
        {"weights": CROSS, "tokens": TOKENS, "keys": KEYS, "attention_mask": [1] * 6 + [0]},
    ],
)
def test_the_lines_of_python_give_what_is_shown_from_nothing_but_what_was_handed_over(handed):
    subject = model_explorer(**handed, head=2)
    lines, _ = subject.code(subject.settings).split("\n\n# What", 1)
    assert "what you gave to this explorer" in lines
    found = run(lines.splitlines(), **handed)["state"]
    assert torch.equal(found.weights, handed["weights"][0, 2])
    torch.testing.assert_close(found.measures, state_of(subject).measures, equal_nan=True)


def test_a_click_in_the_list_or_the_picture_chooses_and_once_more_changes_nothing():
    subject = model_explorer(WEIGHTS, TOKENS, sort="evenness")
    order = state_of(subject).measures["evenness"].order()
    listed = re.findall(r'data-click="{&quot;layer&quot;: (.), &quot;head', subject.view.value)
    assert listed == [str(number // H) for number in order]
    for _ in range(2):
        subject.click({"layer": 1, "head": 2})
        subject.click({"row": 3})
        chosen = panel_of(subject, Matrix)
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
    evenness = state_of(subject).measures["evenness"]
    order = evenness.order()[:6]
    order += [8] * (8 not in order)
    assert re.findall(r">0, (.)</th>", table) == [str(head) for head in order]
    values = [f"{evenness.values[head]:.2f}" for head in order]
    assert re.findall(r">(0\.\d\d)</td>", table) == values
    assert table.count("&quot;head&quot;: 8}") == 2  # the name and the number


@pytest.mark.parametrize(
    ("tokens", "names"),
    [
        (
            ["The", "Ġold", "Ċ", "æĪĳ", "ĠæĪ", "ĳ", "Ġcaf", "Ã©", "<|endoftext|>"],
            ["The", " old", "↵", "我", " \\xe6\\x88", "\\x91", " caf", "é", "<|endoftext|>"],
        ),
        (
            ["▁The", "▁old", "<0x0A>", "我", "▁<s>", "<0xE6>", "▁", "café", "<s>"],
            [" The", " old", "↵", "我", " <s>", "\\xe6", "␣", "café", "<s>"],
        ),
        (["čáp", "māja", "był", "<0x0>", "ã", ""], ["čáp", "māja", "był", "<0x0>", "ã", "(empty)"]),
    ],
)
def test_tokens_are_read_with_their_spaces_line_ends_and_letters(tokens, names):
    assert [*readable(tokens)] == names
    weights, count = softmaxed(1, 1, 27, 27), len(tokens)
    subject = model_explorer(weights[..., : 3 * count, : 3 * count], tokens * 3, row=1)
    few = model_explorer(weights[..., :count, :count], tokens)
    labels = [f"{n} {name.strip()}" for n, name in enumerate(names)]
    assert panel_of(subject, Bars).title == f"where {labels[1]} looks"
    assert panel_of(few, Matrix).rows == labels
    assert not re.search("Ġ|Ċ|▁|<0x0A", subject.view.value + few.view.value)


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
    t = transformers
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
        state = state_of(subject)
        assert (len(state.read.layers), len(state.read.layers[0])) == (2, 4)  # query heads
        assert torch.equal(state.weights, handed[1][0, 3].float())
        assert state.read.causal is causal


def test_an_encoder_and_a_decoder_of_transformers(models):
    start = torch.tensor([[2, 7, 8]])
    out = models["bart"](IDS, decoder_input_ids=start, output_attentions=True)
    subject = model_explorer(out.cross_attentions, ["<s>", "x", "y"], WORDS, layer=3, head=2)
    shown = panel_of(subject, Matrix)
    assert torch.equal(shown.values, out.cross_attentions[3][0, 2])
    assert (shown.rows[1], shown.columns[-1]) == ("1 x", "5 a")
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


def test_padding_in_a_batch_of_transformers_changes_no_mean(models):
    """Left padding and a mask give the means of the text alone."""
    model, names = models["llama"], [*"abcbda"]
    alone = model(IDS, output_attentions=True).attentions
    expected = model_explorer(alone, names)
    mask = torch.tensor([[0] * 3 + [1] * 6, [1] * 9])
    ids = torch.cat([torch.nn.functional.pad(IDS, (3, 0)), torch.arange(9)[None]])
    batch = model(ids, attention_mask=mask, output_attentions=True).attentions
    one = [layer[:1] for layer in batch]
    tokens = ["<pad>"] * 3 + names
    for options in ({"attention_mask": mask[:1]}, {}):  # its rows are even: they are seen, too
        subject = model_explorer(one, tokens, **options)
        found, wanted = (state_of(e).measures for e in (subject, expected))
        torch.testing.assert_close(found, wanted, atol=1e-4, rtol=0)


def test_sorting_chooses_the_head_that_comes_first_and_all_is_of_it():
    subject = model_explorer(WEIGHTS, TOKENS, row=3)
    for name in ("evenness", "token before", "itself"):
        subject.widgets["sort"].value = name  # as a reader does
        first = state_of(subject).measures[name].order()[0]
        chosen = first // H, first % H
        assert (subject.settings["layer"], subject.settings["head"]) == chosen
        panels = subject.panels(subject.settings)
        title = "layer {}, head {}".format(*chosen)
        assert (find(Matrix, panels).title, find(Montage, panels).chosen) == (title, chosen)
        assert find(Note, panels).text.startswith(title.capitalize())
        row = WEIGHTS[chosen][3, :4]
        torch.testing.assert_close(torch.tensor(find(Bars, panels).values), row)
    subject.click({"layer": 0, "head": 1})  # another head may still be chosen
    subject.set(row=2)
    assert (subject.settings["layer"], subject.settings["head"]) == (0, 1)
    subject.widgets["sort"].value = "layer"  # the order in which they were handed over
    assert (subject.settings["layer"], subject.settings["head"]) == (0, 1)


def test_where_a_layer_is_given_sorting_chooses_the_first_of_its_heads():
    for layer in range(L):
        subject = model_explorer(WEIGHTS, TOKENS, sort="itself", layer=layer)
        values = state_of(subject).measures["itself"].values
        assert subject.settings["head"] == values[layer * H : (layer + 1) * H].argmax()
        both = model_explorer(WEIGHTS, TOKENS, sort="itself", layer=layer, head=1)
        assert (both.settings["layer"], both.settings["head"]) == (layer, 1)


@pytest.mark.parametrize(
    ("layers", "heads", "tokens", "above", "turned", "least"),
    [
        (30, 9, 15, True, True, 28),
        (30, 9, 32, True, True, 28),
        (2, 24, 15, True, False, 40),
        (12, 12, 15, False, False, 28),
        (2, 1, 21, False, False, 56),
        (32, 32, 40, False, False, 12),
        (1, 1, 2, False, False, 56),
    ],
)
def test_small_heads_stand_where_they_have_most_room_each_at_its_place(
    layers, heads, tokens, above, turned, least
):
    sizes = torch.arange(layers * heads).reshape(layers, heads, 1, 1) / (layers * heads)
    weights = torch.zeros(layers, heads, tokens, tokens)
    weights[..., 0] = sizes[..., 0]
    subject = model_explorer(weights, ["a"] * tokens, layer=layers - 1, head=0)
    board = panel_of(subject, Montage)
    tiles, (wide, high) = board.values, board.values.tile
    assert (tiles.above, tiles.turned) == (above, turned)
    assert min(wide, high) >= least
    across, down = (layers, heads) if turned else (heads, layers)
    assert wide * across <= 1.1 * (1080 if above else 400)
    places = pixels(board.html())
    zoom = wide * across // places.shape[1]
    assert (places.shape[1] * zoom, places.shape[0] * zoom) == (wide * across, high * down)
    for i, j in ((0, 0), (layers - 1, 0), (0, heads - 1), (layers - 1, heads - 1)):
        column, row = (i, j) if turned else (j, i)
        level = places[(row + 1) * high // zoom - 3, column * wide // zoom]
        assert level == round(100 * sizes[i, j].item())
    numbers = [
        int(x) for x in re.findall(r'<text x="(\d+)" y="\d+" text-anchor="middle"', board.html())
    ]
    for left, right in itertools.pairwise(numbers):  # each where there is room for it, 28 pixels
        assert max(28, wide) - 1 <= right - left <= 28 + wide
    axes = json.loads(html.unescape(re.search(r'data-board="([^"]*)"', board.layers()[1])[1]))
    named = [["layer", 0, layers, layers - 1], ["head", 0, heads, 0]]
    assert [axes["across"], axes["down"]] == (named if turned else named[::-1])
    frame = re.search(r'class="frame" x="(\d+)" y="(\d+)"', board.layers()[1])
    column, row = (layers - 1, 0) if turned else (0, layers - 1)
    assert [int(n) for n in frame.groups()] == [47 + column * wide, 19 + row * high]


@pytest.mark.parametrize("count", [17, 32, 60, 300])
def test_the_large_picture_has_words_on_its_axes_with_room_for_each(count):
    tokens = [f"w{n}" for n in range(count)]
    subject = model_explorer(torch.eye(count), tokens, row=count - 2)
    shown = panel_of(subject, Large).html()
    scale = float(re.search(r'<image [^>]*width="(\d+)"', shown)[1]) / count
    for side in "qk":
        named = [int(n) for n in re.findall(rf"<text data-{side}=(\d+) ", shown)]
        places = sorted(named)
        assert places[0] == 0
        assert np.diff(places).min() * scale >= 11
        assert np.diff(places).max() * scale <= 36
        if count <= 32:
            assert places == list(range(count))
    assert re.search(rf"<text data-q={count - 2} [^>]*class=at>{count - 2} w{count - 2}<", shown)
    assert "query ↓" in shown
    assert f">{count - 2} w{count - 2}<" in panel_of(subject, Large).presented().html()


def test_without_the_first_token_each_weight_is_divided_by_what_is_left():
    weights = softmaxed(1, 2, 6, 6)
    weights[0, 1, :, 0], weights[0, 1, :, 1:] = 1, 0  # nothing is left of this one
    tokens = [*"abcabc"]
    subject = model_explorer(weights, tokens, without_first=True, row=4)
    state, whole = state_of(subject), weights[0, 0]
    expected = whole.clone()
    expected[:, 0] = 0
    expected[1:] /= 1 - whole[1:, :1]
    torch.testing.assert_close(state.weights, expected)
    panels = subject.panels(subject.settings)
    table, bars = find(Matrix, panels), find(Bars, panels)
    assert table.hidden[:, 0].all()
    assert sum(bars.values) == pytest.approx(1)
    assert bars.labels[0] == "1 b"
    found = state.measures
    for name, value, rows in (
        ("token before", expected[2:].diagonal(1)[:4].mean(), 4),  # of b it is the first
        ("itself", expected.diagonal()[2:].mean(), 4),
        ("induction", (expected[3, 1] + expected[4, 2] + expected[5, 3]) / 3, 3),
        ("first token", whole[1:, 0].mean(), 5),  # of the whole
    ):
        values, counts = found[name]
        assert values[0].item() == pytest.approx(value.item(), abs=1e-5), name
        assert counts[0] == rows
    assert f"what the first token leaves, which gets {whole[1:, 0].mean():.2f}" in (
        find(Note, panels).text
    )
    subject.set(head=1)
    assert panel_of(subject, Bars).labels == ["to no token"]
    assert "nan" not in subject.view.value
    long = model_explorer(torch.eye(20).cumsum(0) / torch.arange(1, 21)[:, None], ["a"] * 20)
    long.set(without_first=True)
    assert (pixels(long.view.value)[:, 0] == 101).all()
    cross = model_explorer(CROSS, TOKENS, KEYS)
    assert cross.places["without_first"].layout.display == "none"


def test_behind_padding_the_first_token_is_that_of_the_text():
    handed = padded(softmaxed(2, 5, 5), 3, 0)
    subject = model_explorer(handed, ["<pad>"] * 3 + TOKENS, without_first=True)
    state = state_of(subject)
    assert state.window.left_out == 3
    assert state.weights[7, 3] == 0
    assert state.weights[7, 4:].sum() == pytest.approx(1)
    alone = model_explorer(softmaxed(2, 5, 5), TOKENS, without_first=True)
    torch.testing.assert_close(state.measures, state_of(alone).measures)
