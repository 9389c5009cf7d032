"""Assumptions: comparisons that hold of a function's arguments, and of what it computes of them, as ranges of terms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import partial, update_wrapper
from typing import Any

import numpy as np

from relgrad.bounds import in_words
from relgrad.errors import AssumptionError
from relgrad.op import Symbolic
from relgrad.trace.arguments import argument_paths, parameters_of
from relgrad.trace.claims import Claim, claims_of, refuse
from relgrad.trace.construct import construct
from relgrad.trace.containers import Structure, flatten
from relgrad.trace.nesting import Nesting
from relgrad.types import Interval

Ranges = Sequence[tuple[str | int, Interval]]
"""Ranges of arguments, by name or position."""


_claims: Nesting[list[Claim]] = Nesting()
"""What is assumed in the traces that this thread is in the middle of."""
_checked: ContextVar[bool] = ContextVar("checked", default=False)


def recording() -> AbstractContextManager[list[Claim]]:
    """Collect what is assumed within: in a trace, conditions have no truth values yet."""
    return _claims.within([])


@contextmanager
def checked_assumptions() -> Iterator[None]:
    """Within, assumptions about plain arrays are checked: a debug mode, for calls of functions as they are written.

    >>> def f(x):
    ...     assume(x > 0)
    ...     return np.log(x)
    >>> with checked_assumptions():
    ...     f(np.array([1.0, -1.0]))
    Traceback (most recent call last):
    ...
    relgrad.errors.AssumptionError: an assumption is false: `assume(x > 0)`
    ...
    """
    token = _checked.set(True)
    try:
        yield
    finally:
        _checked.reset(token)


def assume(*conditions: Any) -> None:
    """State that conditions hold for every entry: a statement in a function that is traced, without effect elsewhere.

    A condition is a comparison of arrays or numbers, `x > 0`, `np.abs(x) <= 1`, `x < y`, or several joined by `&`. The
    ranges that follow decide side conditions of relations, for values and derivatives of every order of this function
    and of no other. On plain arrays nothing is done (within `checked_assumptions()` they are checked).

    >>> import relgrad as rg
    >>> def f(x):
    ...     rg.assume(x > 0)
    ...     return np.sqrt(x**2)
    >>> rg.stabilize(f).explain(2.0).derivation.after
    (e(x),)

    Raises AssumptionError for what is no comparison, is false while a function is traced, or contradicts what is known.
    """
    for condition in conditions:
        if not isinstance(condition, Symbolic):
            _check(condition)
            continue
        at = construct()
        if not _claims.values or not getattr(condition.term, "ground", False):
            raise AssumptionError(
                f"an assumption outside of a trace: {at.quoted or 'assume(...)'}",
                where=at.where,
                cause="it would hold of symbols, or of the variables of a relation, in every program that has them",
                cure="assume within a function that is traced; write symbol(name, assume=...), or in a relation"
                " return positive(x) after its two sides",
            )
        _claims.values[-1].extend(claims_of(condition.term, at.text, at.where))


def assuming(fun: Callable[..., Any], ranges: Ranges) -> Callable[..., Any]:
    """(f, {x: (0, ∞)}) → f with x > 0 assumed: a function that assumes ranges of its arguments before it runs.

    And of all arrays within them. Raises AssumptionError when it is called without an argument of such a name.
    """
    return update_wrapper(partial(_call_assuming, fun, ranges), fun, updated=()) if ranges else fun


def _call_assuming(fun: Callable[..., Any], ranges: Ranges, /, *args: Any, **kwargs: Any) -> Any:
    """f(x), x > 0 → the claim, then f(x); raises AssumptionError where no argument has the name."""
    leaves, structure = flatten((args, kwargs))
    paths = argument_paths(fun, structure)
    for key, known in ranges:
        chosen = _chosen(key, paths, structure.children[0])
        # An argument of this name may be left out of a call, or need not be an array.
        if not chosen and key not in parameters_of(fun):
            raise AssumptionError(
                f"assume names {key!r}, and no array among the arguments has that name",
                cause=f"the arrays are {', '.join(paths)}" if paths else "no argument is an array",
                cure="name arguments as the function does, with or without what is inside: 'x', \"p['w']\", 0",
            )
        for i in chosen:
            _assume_range(leaves[i], known, paths[i])
    return fun(*args, **kwargs)


def _assume_range(x: Any, known: Interval, path: str) -> None:
    """tracer, (0, ∞) → a claim; 2.0 → passes, −1.0 → AssumptionError."""
    if isinstance(x, Symbolic):
        if _claims.values:
            text = in_words(path, known)
            _claims.values[-1].append(Claim(x.term, known, text))
    elif _checked.get() and not known.holds(np.asarray(x)):
        raise AssumptionError(f"an assumption is false: `{in_words(path, known)}`")


def _chosen(key: str | int, paths: Sequence[str], positional: Structure) -> list[int]:
    """(p, ["x", "p['w']", "p['b']"]) → [1, 2]: the leaves that an argument's name or position means, those inside as
    well.
    """
    if isinstance(key, str):
        return [i for i, p in enumerate(paths) if p == key or p.startswith((f"{key}[", f"{key}."))]
    count = len(positional.children)
    if not -count <= key < count:
        return []
    sizes = [child.size for child in positional.children]
    start = sum(sizes[: key % count])
    return list(range(start, start + sizes[key]))


def _check(condition: Any) -> None:
    """2 > 1 → passes, 1 > 2 → AssumptionError: a condition without symbolic arrays is true or false already."""
    truth = np.asarray(condition)
    if truth.dtype != bool:
        at = construct()
        refuse(at.text, at.where, f"a {type(condition).__name__}")
    if (_checked.get() or _claims.values) and not truth.all():
        at = construct()
        raise AssumptionError(f"an assumption is false: {at.quoted or 'assume(...)'}", where=at.where)
