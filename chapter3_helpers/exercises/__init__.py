"""Exercises that answer: not attempted yet, correct, or which misconception an attempt shows.

Each topic with exercises has a file of its own here, named after its notebook and its module; this
one holds what they share.
"""

import copy
import functools
import importlib
import inspect
import pkgutil
import re
import traceback
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Rational
from typing import Any

import numpy as np
import torch
from IPython.display import display
from numpy import allclose, isclose  # as they are now, whatever an attempt puts in their places

from chapter3_helpers._language import say, to_say
from chapter3_helpers._switches import as_torch_starts
from chapter3_helpers.exercises.feedback import Outcome, Verdict

TOLERANCE = 1e-4  # the largest difference that counts as equal; counts have to be exact
CLOSE = 0.01  # relative: a value that is this near was probably rounded
LONGEST_EXAMPLE = 1500  # characters
# notebook -> exercise -> was its last attempt right?
SOLVED: defaultdict[str, dict[str, bool]] = defaultdict(dict)
INSIDE_OUT = "The mask is inside out. In this package True means hidden."  # in two topics
TRIED: list[str] = []  # the exercises an attempt at which runs now


@dataclass(frozen=True)
class Exercise:
    """One exercise: what is right, and what the likely wrong answers are.

    An answer is a function, which is tried on every case, or a plain value (then ``cases`` is
    left empty and ``solution`` takes no argument).

    Args:
        name: the number of its notebook and a letter, ``"02a"``.
        solution: a correct answer: the function itself, or a function that returns the value.
        cases: the arguments to try an answer with, one tuple per case; the sizes in
            them should all differ, so that no two dimensions can be confused.
        misconceptions: a sentence for the reader -> an answer that makes this mistake, or
            several. It may fail on some of the cases, as the reader's then does, too.
        demand: for what the task asks and the numbers do not show. It tries the answer on one
            case, and returns a complaint or an empty text.
    """

    name: str
    solution: Callable[..., Any]
    cases: Sequence[tuple] = ()
    misconceptions: Mapping[str, Callable[..., Any] | tuple[Callable[..., Any], ...]] = field(
        default_factory=dict
    )
    demand: Callable[[Callable[..., Any], tuple], str] | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch("[0-9]{2}[a-z]", self.name):
            raise ValueError(f"name must be two digits and a letter, as in 02a, got {self.name!r}")
        SOLVED[self.notebook].setdefault(self.name, False)
        object.__setattr__(self, "solution", _kept_from_attempts(self.solution, self.name))

    @property
    def notebook(self) -> str:
        """The number of the notebook, with which a name begins."""
        return self.name[:2]

    def check(self, attempt: Any) -> None:
        """Show the verdict on an attempt, whatever it is and whatever error it makes.

        With a correct answer it says how many exercises of the notebook are solved.
        """
        try:
            verdict = self.verdict(attempt)
        except Exception as error:  # an answer that fails when one looks at it
            words = say("Comparing your answer stopped with {error}", error=_name(error))
            verdict = Verdict(self.name, Outcome.NOT_YET, words)
        solved = SOLVED[self.notebook]
        solved[self.name] = verdict.outcome is Outcome.CORRECT
        if solved[self.name]:
            words = say(
                "You have solved {solved} of the {all} exercises of this notebook.",
                solved=sum(solved.values()),
                all=len(solved),
            )
            verdict = replace(verdict, words=words)
        display(verdict)

    @as_torch_starts()
    def verdict(self, attempt: Any) -> Verdict:
        """Return the verdict on an attempt: a function, or a value of any kind."""
        untouched = attempt is None or attempt is Ellipsis
        complaint = None if untouched else self._complaint(attempt)
        if complaint is None:
            return Verdict(self.name, Outcome.NOT_ATTEMPTED)
        return Verdict(self.name, Outcome.NOT_YET if complaint else Outcome.CORRECT, complaint)

    def mistakes(self) -> list[tuple[str, Callable[..., Any]]]:
        """Return every sentence for the reader with an answer that earns it."""
        return [
            (message, mistake)
            for message, made in self.misconceptions.items()
            for mistake in (made if isinstance(made, tuple) else (made,))
        ]

    def _complaint(self, attempt: Any) -> str | None:
        """Say what is wrong with an attempt: an empty text if nothing is, None if it is a stub."""
        expected = self._expected  # asked for first: an attempt may change what torch computes
        if not self.cases:
            if callable(attempt):
                return say("The answer is a value, and this is a function.")
            return self._compare(attempt, [attempt], expected)
        if not callable(attempt):
            return say("The answer is a function, and this is {it}.", it=_describe(attempt))
        answers = []
        for case in self.cases:
            answers.append(self._try(attempt, case))
            if answers[-1] is Ellipsis or (answers[-1] is None and _is_stub(attempt)):
                return None
            if answers[-1] is None and len(answers) == 1:
                return say("Your function returned None. Is a `return` missing?")
            if answers[-1] is None:
                return say(
                    "Your function returned None for some of the inputs. Is a `return` missing?"
                )
        return self._compare(attempt, answers, expected)

    def _compare(self, attempt: Any, answers: list, expected: list) -> str:
        """Say how answers differ from what was expected; an empty text if they do not."""
        if equal(answers, expected):
            tried = self.cases if self.demand else ()
            return next(filter(None, (self.demand(attempt, copy.deepcopy(c)) for c in tried)), "")
        for message, wrong in self._wrong:
            if equal(answers, wrong):
                return say(message)
        for stop in answers:
            if isinstance(stop, _Stop):
                return _stopped(stop.error, attempt)
        cases = self.cases or [()]
        if self.cases and _differs(self._try(attempt, cases[0]), answers[0]):
            return say(
                "Called twice with the same input, your function returned different numbers. "
                "Is a seed missing?"
            )
        wrong = [
            found for found in zip(answers, expected, cases, strict=True) if not equal(*found[:2])
        ]
        answer, right, case = min(wrong, key=lambda found: _size(found[-1]))
        example = _example(attempt, case, answer, right) if case else ""
        return f"{_difference(answer, right, case)}{example}"

    def _try(self, attempt: Callable[..., Any], case: tuple) -> Any:
        TRIED.append(self.name)
        try:
            return _answer(attempt, case)
        finally:
            TRIED.pop()

    @functools.cached_property
    def _expected(self) -> list:
        return self._answers(self.solution)

    @functools.cached_property
    def _wrong(self) -> list[tuple[str, list]]:
        return [(message, self._answers(mistake)) for message, mistake in self.mistakes()]

    def _answers(self, function: Callable[..., Any]) -> list:
        return [_answer(function, case) for case in self.cases or [()]]


@dataclass(frozen=True)
class _Stop:
    """Stands for the answer of a function that failed."""

    error: BaseException


def _answer(function: Callable[..., Any], case: tuple) -> Any:
    """Return what a function answers, given a copy: one that works in place spoils nothing."""
    try:
        return function(*copy.deepcopy(case))
    except (Exception, SystemExit) as error:
        return _Stop(error)


def _kept_from_attempts(solution: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return the solution, for everybody but an attempt at the exercise."""

    @functools.wraps(solution)
    def kept(*case: Any) -> Any:
        if name in TRIED:
            raise PermissionError("That is the checker's own answer. Write one of your own.")
        return solution(*case)

    return kept


def equal(answer: Any, expected: Any) -> bool:
    """Whether an answer is what was expected: same structure, same shape, close numbers.

    Where a tuple of numbers or a truth value was expected, a tensor or an array will do. Two
    functions that failed are equal if they did so in the same way.
    """
    if isinstance(expected, _Stop):
        return isinstance(answer, _Stop) and type(answer.error) is type(expected.error)
    if isinstance(expected, bool):
        is_truth = isinstance(answer, bool) or str(getattr(answer, "dtype", "")).endswith("bool")
        return is_truth and getattr(answer, "ndim", 0) == 0 and bool(answer) == expected
    if isinstance(expected, str):
        return isinstance(answer, str) and answer == expected
    if isinstance(expected, torch.nn.Module):  # equal if they hold the same parameters
        return isinstance(answer, torch.nn.Module) and equal(
            answer.state_dict(), expected.state_dict()
        )
    if isinstance(expected, Mapping):
        return (
            isinstance(answer, Mapping)
            and answer.keys() == expected.keys()
            and all(equal(answer[key], expected[key]) for key in expected)
        )
    if isinstance(expected, tuple | list) and not isinstance(answer, torch.Tensor | np.ndarray):
        return isinstance(answer, tuple | list) and equal(
            dict(enumerate(answer)), dict(enumerate(expected))
        )
    left, right = _numbers(answer), _numbers(expected)
    if left is None or right is None or left.shape != right.shape:
        return False
    if _are_truths(answer) and not _are_truths(expected):
        return False
    tolerance = _tolerance(expected)
    return bool(allclose(left, right, rtol=tolerance, atol=tolerance, equal_nan=True))


def _differs(again: Any, answer: Any) -> bool:
    """Whether a second answer to the same question has other numbers than the first."""
    return _numbers(answer) is not None and not equal(again, answer)


def _numbers(value: Any) -> np.ndarray | None:
    """Return numbers as float64 (booleans as 0 and 1), or None for anything else."""
    if isinstance(value, str | bytes) or _is_complex(value):
        return None  # NumPy would read "1" as a number, and drop an imaginary part
    try:
        if isinstance(value, tuple | list):
            parts = [_numbers(part) for part in value]
            return None if any(part is None for part in parts) else np.array(parts, np.float64)
        if isinstance(value, torch.Tensor):
            value = value.detach().cpu().to(torch.float64).numpy()
        return np.asarray(value, dtype=np.float64)
    except Exception:  # whatever an attempt returns: a sparse tensor, one without numbers, ...
        return None


def _is_complex(value: Any) -> bool:
    return "complex" in str(getattr(value, "dtype", ""))


def _are_truths(value: Any) -> bool:
    """Whether a value holds True and False, and nothing else."""
    if isinstance(value, tuple | list):
        return len(value) > 0 and all(map(_are_truths, value))
    return isinstance(value, bool) or str(getattr(value, "dtype", "")).endswith("bool")


def _tolerance(expected: Any) -> float:
    """Return how far a number may be from the expected one: counts and fractions are exact."""
    values = expected if isinstance(expected, tuple | list) else [expected]
    return 1e-15 if all(isinstance(value, Rational) for value in values) else TOLERANCE


def _describe(value: Any) -> str:
    if isinstance(value, torch.Tensor | np.ndarray) and value.ndim:
        if _is_complex(value):
            return say("of shape {shape}, of complex numbers", shape=tuple(value.shape))
        return say("of shape {shape}", shape=tuple(value.shape))
    if isinstance(value, torch.nn.Module):
        return type(value).__name__
    text = repr(value)
    if 0 < len(text) < 60:
        return text
    return say("a value of type {type}", type=type(value).__name__)


def _name(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _stopped(error: BaseException, attempt: Callable[..., Any]) -> str:
    """Name an error, and the line of the attempt in which it arose, if it arose in there."""
    file = getattr(getattr(attempt, "__code__", None), "co_filename", None)
    lines = [at for at in traceback.extract_tb(error.__traceback__) if at.filename == file]
    if not lines:
        return say("Your code stopped with {error}", error=_name(error))
    of = {"number": lines[-1].lineno, "line": lines[-1].line, "error": _name(error)}
    if not lines[-1].line:
        return say("Your code stopped in line {number} with {error}", **of)
    return say("Your code stopped in line {number}, `{line}`, with {error}", **of)


def _stub(): ...


def _documented_stub():
    """Return what is asked for."""
    ...


def _is_stub(attempt: Callable[..., Any]) -> bool:
    """Whether the body of a function is ``...`` alone, as in the notebook before an attempt."""
    code = getattr(attempt, "__code__", None)
    stubs = _stub.__code__, _documented_stub.__code__
    return code is not None and code.co_code in [stub.co_code for stub in stubs]


def _size(case: tuple) -> int:
    """Count the numbers in the arguments of a case."""
    return sum(value.numel() if isinstance(value, torch.Tensor) else 1 for value in case)


def _difference(answer: Any, expected: Any, case: tuple) -> str:
    """Say where a wrong answer differs from the right one, without giving the right one away."""
    of = {"answer": _describe(answer), "case": say(", ").join(map(_describe, case))}
    left, right = _numbers(answer), _numbers(expected)
    if isinstance(answer, torch.nn.Module) and isinstance(expected, torch.nn.Module):
        held, wanted = answer.state_dict(), expected.state_dict()
        of["parts"] = ", ".join(n for n in wanted if not equal(held.get(n), wanted[n]))
        return say(
            "The module for the input {case} does not hold what was expected: {parts}.", **of
        )
    unlike = to_say("The answer is {answer}, which is not what was expected.")
    shaped = to_say("The answer has shape {shape}; expected was {expected}.")
    truths = to_say("The answer is made of truth values. Numbers were asked for.")
    missed = to_say("The answer is {answer}, and that is not it.")
    if case:
        unlike = to_say(
            "The answer for the input {case} is {answer}, which is not what was expected."
        )
        shaped = to_say(
            "The answer for the input {case} has shape {shape}; expected was {expected}."
        )
        truths = to_say(
            "The answer for the input {case} is made of truth values. Numbers were asked for."
        )
        missed = to_say("The answer for the input {case} is {answer}, and that is not it.")
    if left is None or right is None:
        return say(unlike, **of)
    if left.shape != right.shape:
        return say(shaped, shape=left.shape, expected=right.shape, **of)
    if _are_truths(answer) and not _are_truths(expected):
        return say(truths, **of)
    if not case and isinstance(expected, float) and isclose(left, right, rtol=CLOSE, atol=0):
        return say("{answer} is close. Give four decimals, or an expression for it.", **of)
    if not case or left.ndim == 0:
        return say(missed, **of)
    tolerance = _tolerance(expected)
    wrong = ~isclose(left, right, rtol=tolerance, atol=tolerance, equal_nan=True)
    if not wrong.any():  # 1 for True, for one
        return say(unlike, **of)
    return say(
        "The shape is right for the input {case}, but {wrong} of {all} numbers are not.",
        wrong=int(wrong.sum()),
        all=wrong.size,
        **of,
    )


def _example(attempt: Callable[..., Any], case: tuple, answer: Any, expected: Any) -> str:
    """Show what a function returned for a case, and what was expected, if both are short."""
    try:
        given = inspect.signature(attempt).bind(*case).arguments.items()
        lines = [
            say("With"),
            *(_indent(f"{name} = ", value) for name, value in given),
            say("your function returned"),
            _indent("", answer),
            say("and expected was"),
            _indent("", expected),
        ]
    except Exception:  # a function without a signature, an answer without a repr
        return ""
    text = "\n".join(lines)
    shows = len(text) < LONGEST_EXAMPLE and not isinstance(expected, torch.nn.Module)
    return f"\n{text}" if shows else ""


def _indent(name: str, value: Any) -> str:
    start = f"    {name}"
    return start + repr(value).replace("\n", "\n" + " " * len(start))


def drawn(*shape: int, seed: int = 1) -> torch.Tensor:
    """Draw the numbers of a case: with the same seed always the same ones."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def wants_truths(attempt: Callable[..., Any], case: tuple) -> str:
    """Refuse a mask of numbers: ``masked_fill`` takes True and False. A demand of exercises."""
    answer = attempt(*case)
    if _are_truths(answer):
        return ""
    return say(
        "The cells are right, but they are numbers ({dtype}). `masked_fill` asks for a mask of "
        "True and False, of dtype torch.bool.",
        dtype=dtype_of(answer),
    )


def dtype_of(answer: Any) -> Any:
    """Return the type of the numbers in an answer, a list or an array or a tensor."""
    return answer.dtype if isinstance(answer, torch.Tensor) else np.asarray(answer).dtype


# All topics, whichever is asked for first, so that their numbers are those that they always are,
# whatever a reader has switched in torch.
with as_torch_starts():
    for _topic in pkgutil.iter_modules(__path__, f"{__name__}."):
        importlib.import_module(_topic.name)
