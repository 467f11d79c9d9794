"""``@checked``: a class of a lesson refuses bad arguments without a line of it in the lesson."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from chapter3_helpers._checks.edge import edge
from chapter3_helpers._checks.numbers import check_divisible, check_dropout, check_flag, check_size
from chapter3_helpers._checks.tensors import check_ids, check_input

# A check gets the name of an argument, all arguments of the call by name, and the module; it
# raises, or returns the value to go on with.
Check = Callable[[str, Mapping[str, Any], nn.Module], Any]


def of_value(check: Callable[[str, Any], Any]) -> Check:
    """Make a check of one that looks at the argument alone."""
    return lambda name, given, module: check(name, given[name])


SIZES = (  # in the order in which a module prints them
    *("vocab_size", "d_in", "d_out", "max_length", "d", "hidden"),
    *("context_length", "num_layers", "num_heads", "num_kv_heads"),
)
CHECKS: dict[str, Check] = {
    **dict.fromkeys((*SIZES, "d_model", "batch_size"), of_value(check_size)),
    **dict.fromkeys(("qkv_bias", "rotary"), of_value(check_flag)),
    "dropout": of_value(lambda name, value: check_dropout(value, name)),
    "x": lambda name, given, module: check_input(name, given[name], module),
    "ids": lambda name, given, module: check_ids(
        name, given[name], module.vocab_size, module.context_length
    ),
}


def checked(
    kind: type[nn.Module] | None = None,
    /,
    *,
    divisible: tuple[str, str] | None = None,
    methods: tuple[str, ...] = (),
    **own: Check,
) -> Any:
    """Check what a class of a lesson is made with and called with; keep and print its sizes.

    Every argument of ``__init__``, ``forward``, ``attention_weights`` and ``methods`` that has a
    check in ``CHECKS`` is checked by its name. The sizes become attributes, beside ``head_dim``,
    ``num_heads`` and ``context_length``, which one head and a module for any length have as 1 and
    None. ``mask`` entries of a checkpoint are passed over: other classes save a mask that these
    compute.

    Args:
        divisible: two sizes of which the second has to divide the first.
        methods: further methods whose arguments are checked.
        own: checks by argument name that hold for this class alone.

    >>> @checked
    ... class Twice(nn.Module):
    ...     def __init__(self, d):
    ...         super().__init__()
    ...     def forward(self, x):
    ...         return 2 * x
    >>> Twice(d=3)
    Twice(d=3)
    >>> Twice(d=3)(torch.zeros(5, 2))
    Traceback (most recent call last):
    ValueError: the last dimension of x must be d=3, got 2
    """
    if kind is None:
        return functools.partial(checked, divisible=divisible, methods=methods, **own)
    checks = CHECKS | own
    kind.__init__ = _checked_init(kind.__init__, checks, divisible)  # type: ignore[method-assign]
    if hasattr(kind, "attention_weights"):  # what a class has that says nothing else
        kind.num_heads, kind.context_length = 1, None  # type: ignore[attr-defined]
    for name in ("forward", "attention_weights", *methods):
        if name in vars(kind):
            setattr(kind, name, _checked_method(vars(kind)[name], checks))
    kind.extra_repr = _sizes_in_words  # type: ignore[method-assign]
    kind._load_from_state_dict = _load_without_mask  # type: ignore[method-assign]
    return kind


def _checked_init(init: Callable, checks: Mapping[str, Check], divisible: Any) -> Callable:
    signature = inspect.signature(init)

    @functools.wraps(init)
    def call(self: nn.Module, *args: Any, **kwargs: Any) -> None:
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        _, *names = signature.parameters
        given = {name: bound.arguments[name] for name in names}
        for name in names:
            optional = given[name] is None and signature.parameters[name].default is None
            if name in checks and not optional:
                given[name] = checks[name](name, given, self)
        if divisible is not None:
            check_divisible(**{name: given[name] for name in divisible})
        init(self, **given)
        _keep_sizes(self, given, divisible)

    return call


def _keep_sizes(module: nn.Module, given: Mapping[str, Any], divisible: Any) -> None:
    """Set the sizes that a module was made with as its attributes."""
    sizes = {name: given[name] for name in SIZES if given.get(name) is not None}
    if "d_model" in given:
        sizes |= {"d_in": given["d_model"], "d_out": given["d_model"]}
    if hasattr(module, "attention_weights"):
        width = sizes.get("d_out") or sizes["d"]
        sizes["head_dim"] = width // sizes[divisible[1]] if divisible else width
    vars(module).update(sizes)


def _sizes_in_words(self: nn.Module) -> str:
    """Say the sizes that the module was made with."""
    return ", ".join(f"{name}={vars(self)[name]}" for name in SIZES if name in vars(self))


def _load_without_mask(self: nn.Module, state_dict: dict, prefix: str, *args: Any) -> None:
    """Pass over the mask, which the chapter's classes save and these compute."""
    state_dict.pop(f"{prefix}mask", None)
    nn.Module._load_from_state_dict(self, state_dict, prefix, *args)


def _checked_method(method: Callable, checks: Mapping[str, Check]) -> Callable:
    _, *names = inspect.signature(method).parameters

    @functools.wraps(method)
    def call(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        if edge.inside:
            return method(self, *args, **kwargs)
        # As PyTorch 2.6 can compile it; the method itself refuses arguments that are too many.
        given = {**dict(zip(names, args)), **kwargs}  # noqa: B905
        for name in given:
            if name in checks:
                checks[name](name, given, self)
        if torch.compiler.is_compiling():  # a compiler takes no note of where it is
            return method(self, *args, **kwargs)
        edge.inside = True
        try:
            return method(self, *args, **kwargs)
        finally:
            edge.inside = False

    # Compilers count for each piece of code how often they compiled it: each method has its own.
    call.__code__ = call.__code__.replace(co_name=method.__name__)
    return call
