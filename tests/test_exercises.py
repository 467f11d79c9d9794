import contextlib
import copy
import dataclasses
import importlib
import io
import pkgutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from chapter3_helpers import exercises
from chapter3_helpers.dropout import dropout_mask
from chapter3_helpers.exercises import Exercise, equal
from chapter3_helpers.exercises.dropout import WHICH_P
from chapter3_helpers.exercises.feedback import Outcome, Verdict
from chapter3_helpers.exercises.handmade_transformer import (
    completer,
)
from chapter3_helpers.exercises.softmax import SCORES_FROM_WEIGHTS, STABLE
from chapter3_helpers.exercises.tensor_parallel import KV_HEADS_HERE
from chapter3_helpers.exercises.trainable_qkv import CARRY_WEIGHTS
from chapter3_helpers.fused_multihead import MultiHeadAttention
from chapter3_helpers.handmade_transformer import MODEL, complete
from chapter3_helpers.masking import causal_mask
from chapter3_helpers.multihead_wrapper import MultiHeadAttentionWrapper
from chapter3_helpers.trainable_qkv import SelfAttention_v1
from tests.switches import GROUPS
from tools.notebook_files import code_cells, exercises_with_answers, numbered_paths, read, tags

TOPICS = [
    importlib.import_module(f"chapter3_helpers.exercises.{module.name}")
    for module in pkgutil.iter_modules(exercises.__path__)
]
EXERCISES = [
    value
    for topic in TOPICS
    for name, value in vars(topic).items()
    if isinstance(value, Exercise) and name.isupper()
]


def said(exercise, attempt):
    """Return a verdict as it is printed, after the exercise's name."""
    return repr(exercise.verdict(attempt)).removeprefix(f"Exercise {exercise.name}: ")


def own_solution(exercise):
    """Return the solution as a reader's own function, which the checker does not keep."""
    return exercise.solution.__wrapped__


def documented_stub(x):
    """Return twice the numbers."""
    ...


def forgets_return(x):
    y = 2 * x
    y.sum()


double = Exercise(
    name="98z",
    solution=lambda x: 2 * x,
    cases=((torch.tensor([1.0, 3.0]),), (torch.tensor([[0.5, 1.5, 2.0]]),)),
    misconceptions={"That is a square.": lambda x: x * x},
)
signs = Exercise("98x", lambda x: (x > 0, x < 0), cases=((3,),))
forty_two = Exercise("98y", lambda: 42, misconceptions={"That is the half.": lambda: 21})


THE_ANSWER = "not yet. The answer for the input of shape (2,) is "


@pytest.mark.parametrize(
    ("attempt", "verdict"),
    [
        (None, "not attempted yet."),
        (..., "not attempted yet."),
        (lambda x: None, "not attempted yet."),
        (lambda x: ..., "not attempted yet."),
        (documented_stub, "not attempted yet."),
        (forgets_return, "not yet. Your function returned None. Is a `return` missing?"),
        (lambda x: x + x, "correct."),
        (lambda x: (x + x).tolist(), "correct."),
        (lambda x: (x + x).bfloat16(), "correct."),
        (lambda x: x**2, "not yet. That is a square."),
        (lambda x: x[:1] * 2, "not yet. The answer for the input of shape (2,) has shape (1,)"),
        (lambda x: x * 3, "not yet. The shape is right for the input of shape (2,), but 2 of 2"),
        (lambda x: torch.rand(2), "not yet. Called twice with the same input"),
        (lambda x: x.oops, "not yet. Your code stopped in line"),
        (lambda: 1, "not yet. Your code stopped with TypeError"),
        (lambda x: 2 * x + 5j, f"{THE_ANSWER}of shape (2,), of complex numbers, which is not"),
        (
            lambda x: (2 * x).numpy() + 5j,
            f"{THE_ANSWER}of shape (2,), of complex numbers, which is not",
        ),
        (lambda x: 10**400, f"{THE_ANSWER}a value of type int"),
        (lambda x: "two", f"{THE_ANSWER}'two'"),
        (lambda x: 2 * x if x.dim() == 1 else None, "not yet. Your function returned None for so"),
        (7, "not yet. The answer is a function, and this is 7."),
    ],
)
def test_verdicts_on_functions(attempt, verdict):
    assert said(double, attempt).startswith(verdict)


def test_numbers_for_truth_values_are_not_called_wrong_numbers():
    assert said(signs, lambda x: (1, 0)).startswith(
        "not yet. The answer for the input 3 is (1, 0), which is not what was expected."
    )


def test_a_miss_shows_the_smallest_case():
    assert said(double, lambda x: x * 3) == (
        "not yet. The shape is right for the input of shape (2,), but 2 of 2 numbers are not.\n"
        "With\n    x = tensor([1., 3.])\n"
        "your function returned\n    tensor([3., 9.])\n"
        "and expected was\n    tensor([2., 6.])"
    )
    assert "With\n    x = tensor([[0.5000, 1.5000, 2.0000]])" in said(
        double, lambda x: 2 * x if x.dim() == 1 else x
    )
    assert "With" not in said(forty_two, 7)  # a value is not given away


def test_a_module_is_told_which_of_its_parameters_are_wrong():
    def carry_weights(v2):  # two of the three matrices stay as they were drawn
        d_out, d_in = v2.W_query.weight.shape
        v1 = SelfAttention_v1(d_in, d_out)
        v1.W_query = torch.nn.Parameter(v2.W_query.weight.T)
        return v1

    assert said(CARRY_WEIGHTS, carry_weights) == (
        "not yet. The module for the input SelfAttention_v2 does not hold what was expected: "
        "W_key, W_value."
    )


def test_an_error_names_the_line_of_the_readers_own_code():
    def outer(x):
        return torch.stack([x, x]) @ x.T @ torch.ones(99)

    def through_a_library(x):
        return np.apply_along_axis(lambda row: row.oops, 0, x.numpy())

    assert ", `return torch.stack" in said(double, outer)
    assert "`return np.apply_along_axis(lambda row: row.oops, 0, x.numpy())`, with Attr" in (
        said(double, through_a_library)
    )


def test_a_box_says_in_a_word_what_its_colour_says():
    right, wrong, untried = (Verdict("01a", outcome, "1 < 2 & `more`.") for outcome in Outcome)
    assert "✓ Exercise 01a: Correct<" in right._repr_html_()
    assert "✗ Exercise 01a: Not yet<" in wrong._repr_html_()
    assert "1 &lt; 2 &amp; <code>more</code>.<" in wrong._repr_html_()
    assert "… Exercise 01a: Not attempted yet<" in untried._repr_html_()


@pytest.mark.parametrize(
    ("attempt", "verdict"),
    [
        (None, "not attempted yet."),
        (42, "correct."),
        (torch.tensor(42), "correct."),
        (21, "not yet. That is the half."),
        (7, "not yet. The answer is 7, and that is not it."),
        (lambda: 42, "not yet. The answer is a value, and this is a function."),
        ([42], "not yet. The answer has shape (1,)"),
    ],
)
def test_verdicts_on_values(attempt, verdict):
    assert said(forty_two, attempt).startswith(verdict)


class Hostile:
    """An answer that fails when one looks at it."""

    def __repr__(self):
        raise RuntimeError("no words")


def test_a_check_shows_a_verdict_also_on_an_answer_that_fails_when_one_looks_at_it(capsys):
    double.check(None)
    assert capsys.readouterr().out == "Exercise 98z: not attempted yet.\n"
    for exercise, attempt in ((forty_two, Hostile()), (double, lambda x: Hostile())):
        exercise.check(attempt)
        assert capsys.readouterr().out == (
            f"Exercise {exercise.name}: not yet. "
            "Comparing your answer stopped with RuntimeError: no words\n"
        )


def test_a_right_answer_says_how_many_of_the_notebook_s_exercises_are_solved(capsys):
    first, second, _ = (Exercise(f"99{c}", lambda: 42) for c in "abc")
    for exercise, attempt, said in (
        (first, 42, "correct. You have solved 1 of the 3 exercises of this notebook."),
        (first, 42, "correct. You have solved 1 of the 3 exercises of this notebook."),
        (second, 42, "correct. You have solved 2 of the 3 exercises of this notebook."),
        (first, 7, "not yet. The answer is 7, and that is not it."),
        (second, 42, "correct. You have solved 1 of the 3 exercises of this notebook."),
    ):
        exercise.check(attempt)
        assert capsys.readouterr().out == f"Exercise {exercise.name}: {said}\n"


def test_an_exercise_gives_what_can_be():
    for before, after in WHICH_P.cases:
        torch.testing.assert_close(before.sum(dim=-1), torch.ones(len(before)))
        assert torch.equal(before, before.tril())
        assert after[before == 0].eq(0).all()
    for (weights,) in SCORES_FROM_WEIGHTS.cases:
        assert weights.sum() == 1
    for heads, kv_heads, processes, rank in KV_HEADS_HERE.cases:
        assert heads % kv_heads == heads % processes == 0 <= rank < processes


def test_an_attempt_that_works_in_place_spoils_nothing():
    assert said(double, lambda x: x.mul_(2)) == said(double, lambda x: 2 * x) == "correct."


def test_equality_of_structures():
    assert equal((torch.ones(2), "a"), (torch.ones(2), "a"))
    assert equal({"a": [1, True]}, {"a": (1, True)})
    assert not equal((1, 2), (1, 2, 3))
    assert not equal({"a": 1}, {"b": 1})
    assert not equal(1, True)
    assert not equal(torch.tensor(1), True)
    assert not equal(torch.tensor([True]), True)
    assert equal(torch.tensor(True), True)
    assert not equal(torch.tensor(True), False)
    assert equal(torch.ones(2), (1.0, 1.0))
    assert equal(torch.tensor([2.0, 1.00001]), (2, 1.0))
    assert not equal(1_000_001, 1_000_000)
    assert not equal("1", 1)
    assert not equal(np.array([2 + 5j]), torch.tensor([2.0]))
    assert not equal(torch.ones(1, 2), torch.ones(2, 1))


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)
def test_the_solution_is_correct_and_each_misconception_is_recognised(exercise):
    answer = own_solution(exercise) if exercise.cases else exercise.solution()
    assert said(exercise, answer) == "correct."
    assert said(exercise, ...) == "not attempted yet."
    assert exercise.misconceptions, "an exercise should know one way to go wrong"
    for message, mistake in exercise.mistakes():
        assert said(exercise, mistake if exercise.cases else mistake()) == f"not yet. {message}"
        if exercise.cases:
            mistake(*copy.deepcopy(exercise.cases[0]))  # it is recognised by an answer


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)
def test_the_verdicts_are_the_same_whatever_a_reader_has_switched(exercise, group):
    attempts = [own_solution(exercise), *(mistake for _, mistake in exercise.mistakes())]
    if not exercise.cases:
        attempts = [attempt() for attempt in attempts]
    verdicts = ["correct.", *(f"not yet. {message}" for message, _ in exercise.mistakes())]
    with GROUPS[group]():
        assert [said(exercise, attempt) for attempt in attempts] == verdicts


SWITCHED_FIRST = """
from tests.switches import several
with several("float64", "another device", "inference mode"):
    from tests import test_exercises as tests
for exercise in tests.EXERCISES:
    numbers = tests.tensors_in(exercise.cases)
    dtypes = {number.dtype for number in numbers if number.is_floating_point()}
    assert dtypes <= {tests.torch.float32}, (exercise.name, dtypes)
    assert not any(number.is_inference() or number.is_meta for number in numbers)
print(len(tests.EXERCISES))
"""


def test_exercises_that_are_imported_after_a_switch_are_those_that_they_always_are():
    run = subprocess.run([sys.executable, "-c", SWITCHED_FIRST], capture_output=True, text=True)
    assert run.stdout == f"{len(EXERCISES)}\n", run.stderr


def tensors_in(value):
    """Return all tensors in the arguments of cases, modules' among them."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, torch.nn.Module):
        return [*value.state_dict().values()]
    parts = value if isinstance(value, tuple | list) else []
    return [tensor for part in parts for tensor in tensors_in(part)]


# Answers that a checker once refused or accepted wrongly, or that stand close to the edge.


def stable_by(subtracted):
    def stable(scores):
        exponentials = (scores - subtracted(scores)).exp()
        return exponentials / exponentials.sum(dim=-1, keepdim=True)

    return stable


def carry(turn):
    """Carry weights into a v1 that stands in a cell of the reader's."""

    class SelfAttention_v1(torch.nn.Module):
        pass

    def carry_weights(v2):
        v1 = SelfAttention_v1()
        for name in ("W_query", "W_key", "W_value"):
            setattr(v1, name, torch.nn.Parameter(turn(getattr(v2, name).weight)))
        return v1

    return carry_weights


def tosses(passes, answer=bool):
    def tosses_coins(module, x):
        outputs = torch.stack([module(x) for _ in range(passes)])
        return answer((outputs != outputs[0]).any())

    return tosses_coins


def attend(hide, divisor=lambda D: D**0.5):
    def attend_visible(queries, keys, values, hidden):
        scores = queries @ keys.transpose(-2, -1) / divisor(queries.shape[-1])
        return torch.softmax(scores.masked_fill(hide(hidden), -torch.inf), dim=-1) @ values

    return attend_visible


def merge_rows_together(first, second):
    largest = torch.cat([first[0], second[0]]).max()
    a, b = (torch.exp(half[0] - largest) for half in (first, second))
    return (a * first[2] + b * second[2]) / (a * first[1] + b * second[1])


def with_weights(array, places, value):
    model = MODEL
    for place in places:
        model = model.with_weight(array, place, value)
    return completer(model)


def not_looking_at_itself(*positions):
    return with_weights("W_query", [(i, i) for i in positions], 0.0)


def looking_two_back(*positions):
    return with_weights("W_query", [(i, i - 2) for i in positions], 1024.0)


def share_through_a_view(queries, keys):
    shares = queries.shape[1] // keys.shape[1]
    seen = keys[:, :, None].expand(-1, -1, shares, -1, -1)  # as large, but in no memory of its own
    heads = [queries[:, h] @ seen[:, h // shares, h % shares].mT for h in range(queries.shape[1])]
    return torch.stack(heads, dim=1)


def seeing_nothing(scores):
    return (scores == -torch.inf).all(dim=-1, keepdim=True)


def with_zeros_in_place_of_blind_rows(scores):
    blind = seeing_nothing(scores)
    return torch.where(blind, 0.0, torch.softmax(torch.where(blind, 0.0, scores), dim=-1))


def by_the_largest_score(scores):
    largest = scores.amax(dim=-1, keepdim=True).masked_fill(seeing_nothing(scores), 0.0)
    powers = (scores - largest).exp()
    return powers / powers.sum(dim=-1, keepdim=True).masked_fill(seeing_nothing(scores), 1.0)


class Anything:
    """An answer that says of itself that it is equal to everything."""

    def __eq__(self, other):
        return True


# what answers in exercise_answers.txt may use: what a notebook has at hand, and the helpers above
MODULES = ("functools", "itertools", "math", "random", "struct", "sys", "torch")
AT_HAND = {
    **{name: importlib.import_module(name) for name in MODULES},
    **{"np": np, "nn": torch.nn, "F": torch.nn.functional, "Anything": Anything},
    **{"PackageV1": SelfAttention_v1, "PackageWrapper": MultiHeadAttentionWrapper},
    **{"PackageMultiHeadAttention": MultiHeadAttention, "causal_mask": causal_mask},
    **{"dropout_mask": dropout_mask, "MODEL": MODEL, "complete": complete},
}


def written_answers():
    """Return what ``exercise_answers.txt`` holds: (exercise, source of an answer, verdict)."""
    for line in Path(__file__).with_name("exercise_answers.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, answer = line.partition("  ")
            source, _, verdict = answer.partition(" -> ")
            yield pytest.param(name, source, verdict, id=f"{name}-{source[:60]}")


@pytest.mark.parametrize(("name", "source", "verdict"), [*written_answers()])
def test_answers_that_are_written_down(name, source, verdict):
    (exercise,) = (exercise for exercise in EXERCISES if exercise.name == name)
    with torch.random.fork_rng(devices=[]):
        found = said(exercise, eval(source, {**globals(), **AT_HAND, "exercise": exercise}))
    assert found.startswith("not yet." if verdict else "correct.")
    assert verdict in found


@pytest.mark.parametrize(
    "exercise", [e for e in EXERCISES if e.cases], ids=lambda exercise: exercise.name
)
def test_no_cheat_passes(exercise):
    """Each tries something without the exercise: a constant, an input, the example, the key."""
    solution = own_solution(exercise)
    shown = min(exercise.cases, key=lambda case: exercises._size(case))
    answers = [solution(*copy.deepcopy(case)) for case in exercise.cases]
    cheats = [lambda *case, answer=answer: answer for answer in answers]
    cheats += [lambda *case, i=i: case[i] for i in range(len(shown))]
    cheats += [lambda *case: solution(*case) if exercises.equal(case, shown) else case[0]]
    cheats += [exercise.solution, lambda *case: exercise.solution(*case)]
    for cheat in cheats:
        assert said(exercise, cheat).startswith("not yet.")


@pytest.mark.parametrize(
    ("owner", "name", "patch"),
    [
        (np, "allclose", lambda *args, **options: True),
        (torch, "softmax", lambda scores, dim: scores),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_an_attempt_replaces_in_a_library_makes_no_wrong_answer_right(
    monkeypatch, owner, name, patch
):
    def replaces(scores):
        monkeypatch.setattr(owner, name, patch)
        return scores

    fresh = dataclasses.replace(STABLE, solution=own_solution(STABLE))
    assert said(fresh, replaces).startswith("not yet.")


@pytest.mark.parametrize("path", numbered_paths(), ids=lambda path: path.stem)
def test_answers_in_the_notebook_are_correct(path):
    """Every stub says that it was not attempted; with the answer in its place it is correct.

    No other cell runs before, so that a reader can start with any exercise.
    """
    notebook = read(path)
    pairs = exercises_with_answers(notebook)
    stubs = [cell for cell in code_cells(notebook) if "exercise" in tags(cell)]
    assert len(pairs) == len(stubs) >= 3
    for stub, answer in pairs:
        space: dict = {}
        assert "not attempted yet." in run(stub, space)
        check = stub.rstrip().splitlines()[-1]
        said = run(f"{answer}\n{check}", space)
        assert ": correct. You have solved " in said, answer
        assert f" of the {len(stubs)} exercises of this notebook." in said


def run(source: str, space: dict) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(source, space)
    return output.getvalue()


@pytest.mark.parametrize("path", numbered_paths(), ids=lambda path: path.stem)
def test_every_exercise_of_a_topic_stands_in_its_notebook(path):
    number, topic = path.stem.split("_", 1)
    names = [exercise.name for exercise in EXERCISES if exercise.name.startswith(number)]
    texts = "\n".join(cell.source for cell in read(path).cells)
    assert len(names) == len(set(names)) > 0, topic
    for name in names:
        assert f"Exercise {name}" in texts
