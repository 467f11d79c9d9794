import contextlib
import importlib
import io
import pkgutil
import sys

import numpy as np
import pytest
import torch

from chapter3_helpers import exercises
from chapter3_helpers.exercises import Exercise, equal, trainable_qkv
from chapter3_helpers.exercises.feedback import Feedback
from chapter3_helpers.trainable_qkv import SelfAttention_v1
from tests.notebook_files import (
    code_cells,
    exercises_with_answers,
    notebook_paths,
    read,
    tags,
)

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
MISCONCEPTIONS = [
    (exercise, message) for exercise in EXERCISES for message in exercise.misconceptions
]


def documented_stub(x):
    """Return twice the numbers."""
    ...


def forgets_return(x):
    y = 2 * x
    y.sum()


double = Exercise(
    name="00z",
    solution=lambda x: 2 * x,
    cases=((torch.tensor([1.0, 3.0]),), (torch.tensor([[0.5, 1.5, 2.0]]),)),
    misconceptions={"That is a square.": lambda x: x * x},
)
forty_two = Exercise("00y", lambda: 42, misconceptions={"That is the half.": lambda: 21})


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
        (lambda x: x**2, "not yet. That is a square."),
        (lambda x: x[:1] * 2, "not yet. The answer for the input of shape (2,) has shape (1,)"),
        (lambda x: x * 3, "not yet. The shape is right for the input of shape (2,), but 2 of 2"),
        (lambda x: torch.rand(2), "not yet. Called twice with the same input"),
        (lambda x: x.oops, "not yet. Your code stopped in line"),
        (lambda: 1, "not yet. Your code stopped with TypeError"),
        (lambda x: sys.exit(1), "not yet. Your code stopped in line"),
        (
            lambda x: 2 * x + 5j,
            "not yet. The answer for the input of shape (2,) is not a plain tensor of real "
            "numbers, but torch.complex64",
        ),
        (
            lambda x: (2 * x).numpy() + 5j,
            "not yet. The answer for the input of shape (2,) is of shape (2,), which is not",
        ),
        (
            lambda x: (2 * x).to_sparse(),
            "not yet. The answer for the input of shape (2,) is not a plain tensor of real "
            "numbers, but torch.float32, torch.sparse_coo",
        ),
        (
            lambda x: (2 * x).to("meta"),
            "not yet. The answer for the input of shape (2,) is not a plain tensor of real "
            "numbers, but torch.float32, torch.strided, on meta.",
        ),
        (
            lambda x: 10**400,
            "not yet. The answer for the input of shape (2,) is a value of type int",
        ),
        (lambda x: "two", "not yet. The answer for the input of shape (2,) is 'two'"),
        (
            lambda x: 2 * x if x.dim() == 1 else None,
            "not yet. Your function returned None for some",
        ),
        (7, "not yet. The answer is a function, and this is 7."),
    ],
)
def test_verdicts_on_functions(attempt, verdict):
    assert double.verdict(attempt).startswith(verdict)


def test_a_miss_shows_the_smallest_case():
    assert double.verdict(lambda x: x * 3) == (
        "not yet. The shape is right for the input of shape (2,), but 2 of 2 numbers are not.\n"
        "With\n    x = tensor([1., 3.])\n"
        "your function returned\n    tensor([3., 9.])\n"
        "and expected was\n    tensor([2., 6.])"
    )
    assert "With\n    x = tensor([[0.5000, 1.5000, 2.0000]])" in double.verdict(
        lambda x: 2 * x if x.dim() == 1 else x
    )
    assert "With" not in forty_two.verdict(7)  # a value is not given away


def test_a_module_is_told_which_of_its_parameters_are_wrong():
    def carry_weights(v2):  # two of the three matrices stay as they were drawn
        d_out, d_in = v2.W_query.weight.shape
        v1 = SelfAttention_v1(d_in, d_out)
        v1.W_query = torch.nn.Parameter(v2.W_query.weight.T)
        return v1

    assert trainable_qkv.CARRY_WEIGHTS.verdict(carry_weights) == (
        "not yet. The module for the input SelfAttention_v2 does not hold what was expected: "
        "W_key, W_value."
    )


def test_an_error_names_the_line_of_the_readers_own_code():
    def outer(x):
        return torch.stack([x, x]) @ x.T @ torch.ones(99)

    def through_a_library(x):
        return np.apply_along_axis(lambda row: row.oops, 0, x.numpy())

    assert ", `return torch.stack" in double.verdict(outer)
    assert "`return np.apply_along_axis(lambda row: row.oops, 0, x.numpy())`, with Attr" in (
        double.verdict(through_a_library)
    )


def test_a_box_says_in_a_word_what_its_colour_says():
    right, wrong, untried = (
        Feedback("01a", verdict)._repr_html_()
        for verdict in ("correct.", "not yet. 1 < 2 & `more`.", "not attempted yet.")
    )
    assert "✓ Exercise 01a: Correct" in right
    assert "✗ Exercise 01a: Not yet" in wrong
    assert "1 &lt; 2 &amp; <code>more</code>." in wrong
    assert "… Exercise 01a: Not attempted yet" in untried


def test_a_difference_is_counted_by_the_tolerance_of_the_exercise():
    strict = Exercise("00x", lambda x: x, cases=((torch.ones(3),),), tolerance=1e-9)
    assert "1 of 3 numbers are not" in strict.verdict(lambda x: x + torch.tensor([0, 0, 1e-6]))


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
    assert forty_two.verdict(attempt).startswith(verdict)


class Hostile:
    """Whatever Python asks of it fails."""

    def __repr__(self):
        raise RuntimeError("no words")

    __str__ = __eq__ = __len__ = __array__ = __float__ = __iter__ = __repr__


class HostileMapping(dict):
    def keys(self):
        raise RuntimeError("no keys")


class HostileError(Exception):
    def __str__(self):
        raise RuntimeError("no message")


def stop(error):
    raise error


HOSTILE = [
    10**5000,
    -(10**5000),
    Hostile(),
    [Hostile()],
    {"a": Hostile()},
    HostileMapping(),
    "\ud800",
]
about_a_dict = Exercise("00x", lambda: {"a": 1}, misconceptions={"That is two.": lambda: {"a": 2}})


@pytest.mark.parametrize("answer", HOSTILE, ids=lambda answer: type(answer).__name__)
@pytest.mark.parametrize(
    "exercise", [forty_two, about_a_dict, double], ids=["42", "dict", "double"]
)
def test_check_never_raises_whatever_the_answer_is(exercise, answer, capsys):
    for attempt in [answer, lambda *_: answer]:
        exercise.check(attempt)
        assert capsys.readouterr().out.startswith(f"Exercise {exercise.name}: not yet. ")


@pytest.mark.parametrize("error", [HostileError(), ValueError("\ud800"), GeneratorExit()])
def test_check_never_raises_whatever_the_attempt_raises(error, capsys):
    double.check(lambda x: stop(error))
    assert f"`raise error`, with {type(error).__name__}" in capsys.readouterr().out


def test_an_interrupt_is_not_swallowed():
    with pytest.raises(KeyboardInterrupt):
        double.check(lambda x: stop(KeyboardInterrupt()))


def test_check_prints_its_verdict_under_the_name(capsys):
    double.check(None)
    assert capsys.readouterr().out == "Exercise 00z: not attempted yet.\n"


def test_an_attempt_that_works_in_place_spoils_nothing():
    assert double.verdict(lambda x: x.mul_(2)) == "correct."
    assert double.verdict(lambda x: 2 * x) == "correct."


def test_equality_of_structures():
    assert equal((torch.ones(2), "a"), (torch.ones(2), "a"))
    assert equal({"a": [1, True]}, {"a": (1, True)})
    assert not equal((1, 2), (1, 2, 3))
    assert not equal({"a": 1}, {"b": 1})
    assert not equal(1, True)
    assert not equal("1", 1)
    assert not equal(np.array([2 + 5j]), torch.tensor([2.0]))
    assert not equal(torch.ones(1, 2), torch.ones(2, 1))


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)
def test_the_solution_is_correct_and_no_attempt_is_none(exercise):
    answer = exercise.solution if exercise.cases else exercise.solution()
    assert exercise.verdict(answer) == "correct."
    assert exercise.verdict(...) == "not attempted yet."
    assert exercise.misconceptions, "an exercise should know one way to go wrong"


@pytest.mark.parametrize(
    ("exercise", "message"),
    MISCONCEPTIONS,
    ids=[f"{exercise.name}-{i}" for i, (exercise, _) in enumerate(MISCONCEPTIONS)],
)
def test_a_misconception_is_told_apart(exercise, message):
    mistake = exercise.misconceptions[message]
    attempt = mistake if exercise.cases else mistake()
    assert exercise.verdict(attempt) == f"not yet. {message}"


def test_names_are_unique():
    names = [exercise.name for exercise in EXERCISES]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("path", notebook_paths(), ids=lambda path: path.stem)
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
        assert run(f"{answer}\n{check}", space).strip().endswith(": correct."), answer


def run(source: str, space: dict) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(source, space)
    return output.getvalue()


@pytest.mark.parametrize("path", notebook_paths(), ids=lambda path: path.stem)
def test_every_exercise_of_a_topic_stands_in_its_notebook(path):
    number, topic = path.stem.split("_", 1)
    names = [exercise.name for exercise in EXERCISES if exercise.name.startswith(number)]
    texts = "\n".join(cell.source for cell in read(path).cells)
    assert names, f"{topic} has no exercise"
    for name in names:
        assert f"Exercise {name}" in texts
