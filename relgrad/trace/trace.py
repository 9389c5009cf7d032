"""Calling a function with tracers: from a callable and its arguments to terms."""

from __future__ import annotations

import inspect
import itertools
import re
import sys
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from traceback import extract_tb
from typing import Any

import numpy as np

from relgrad.errors import RelgradError, TraceError, is_users
from relgrad.held import unchanged_arrays
from relgrad.interpret import interpret
from relgrad.leaf import Anchor, Input, without_anchors
from relgrad.op import Constant, as_term, constant, strong
from relgrad.ops.arithmetic import subtract
from relgrad.symbolic import Symbolic, numbers_as_terms, tracing
from relgrad.term import Term, reachable, rebuild, remade, subterms, term
from relgrad.trace.arguments import (
    argument_paths,
    arrays,
    as_array,
    handed_in,
    has_tracer,
    signature,
    type_of,
)
from relgrad.trace.assume import recording
from relgrad.trace.claims import Claim, Facts, apply
from relgrad.trace.containers import NONE, Structure, flatten
from relgrad.trace.decisions import Decision, Explicit, as_numpy, deciding
from relgrad.trace.foreign import Copies, with_fresh_results
from relgrad.trace.guard import Guard
from relgrad.trace.makers import stand_ins
from relgrad.trace.numbers import traced_argument
from relgrad.trace.outside import read, settle
from relgrad.trace.patches import Patches, patched
from relgrad.trace.refusal import UnrecordedError, refusals
from relgrad.trace.tracer import Flat, Tracer

__all__ = [
    "Traced",
    "arrays",
    "definition",
    "has_tracer",
    "is_tracing",
    "signature",
    "trace",
    "with_symbolic_arrays",
]


@dataclass(frozen=True, slots=True)
class Traced:
    """f(x) → inputs (x,), outputs (sin(x),): all that a function computes from the arrays among its arguments.

    `inputs` and `outputs` are the terms of the leaves of `in_structure` (it holds the positional arguments, a
    tuple, and the keyword arguments, a dict) and of `out_structure`. `paths` names each input as Python code
    inside the function does: `params['W']`. `assumed` holds ranges of inputs, and of what is computed of them.
    `outside` holds further inputs, with their values: arrays that the function did not get as arguments. `decisions`
    are the questions that the function asked of values: this is what it computes where they have the same answers.
    `told` says that it got a text of values as well. `silent` are the kinds of errors that it ignores, by the names of
    `np.errstate`. `numbers` are the floats that code and outside state hold, where all of that is seen: others were
    computed.
    """

    inputs: tuple[Term, ...]
    outputs: tuple[Term, ...]
    in_structure: Structure
    out_structure: Structure
    paths: tuple[str, ...]
    assumed: Facts = ()
    outside: Mapping[Term, Any] = field(default_factory=dict)
    decisions: tuple[Decision, ...] = ()
    told: bool = False
    silent: frozenset[str] = frozenset()
    numbers: frozenset[float] | None = field(default=None, compare=False)

    @property
    def answers(self) -> tuple[Hashable, ...]:
        """[x > 0: True] → (True,): the answers of the decisions."""
        return tuple([d.answer for d in self.decisions])

    @property
    def computed(self) -> tuple[Term, ...]:
        """The outputs, and the terms that are decided."""
        return (*self.outputs, *[d.term for d in self.decisions])

    def is_same(self, other: Traced) -> bool:
        """traced = other, keys of dicts in one order → True: whether a program of one is one of the other."""
        exact = [(t.in_structure.exact, t.out_structure.exact) for t in (self, other)]
        return self == other and exact[0] == exact[1]

    @property
    def statics(self) -> list[tuple[str, Any]]:
        """The arguments that are no arrays, by path: they are part of the program."""
        return self.in_structure.statics("arguments")

    @property
    def stated(self) -> Facts:
        """x − y ≥ 0, y − x ≤ 0 → x − y ≥ 0: the assumptions, each once, and none of variables of differentiation."""
        return tuple(
            [
                (t, known)
                for t, known in self.assumed
                if not (t.op is subtract and known.high <= 0)
                and all(type(x.op) is not Anchor for x in reachable(t))
            ]
        )

    def free(self) -> tuple[Term, ...]:
        """Return the inputs of other traces that outputs or decisions depend on, through the function's closure."""
        own = set(self.inputs)
        return tuple([t for t in subterms(*self.computed) if type(t.op) is Input and t not in own])


def trace(
    fun: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    explicit: Explicit | None = None,
    guard: Guard | None = None,
) -> Traced:
    """Call a function with tracers in place of the arrays among its arguments; return what it computes.

    Python numbers are arrays of rank 0 (float64, int64, bool); NumPy scalars and arrays keep their dtypes;
    lists are containers of arrays. Tracers among the arguments are given fresh inputs of their types as well.
    Questions of what has a value are answered by that; those about gradients, if `explicit` writes them out.
    `guard` is what is known of all that the function can reach.

    >>> import numpy as np
    >>> traced = trace(lambda x, y: {"sum": x + y}, (np.ones(3), 2.0))
    >>> traced.inputs, traced.out_structure
    ((e(x), e(y)), Structure({'sum': *}))

    Raises TraceError for arguments and results that are no real arrays, and what the function raises.
    """
    others = handed_in(args, kwargs or {})
    guard = guard or read(fun, others)
    made: list[Any] = []
    try:
        with numbers_as_terms(not guard.reason) as made:
            return _again_with_copies(fun, args, kwargs, explicit, guard)
    except (TypeError, AttributeError):  # of code that takes no other number than Python's or NumPy's own
        if not made or not guard.still_holds:
            raise
        return _again_with_copies(fun, args, kwargs, explicit, guard)
    finally:
        if tracing.wrapper is None and not guard.still_holds:
            settle(fun, others, as_numpy)


def _again_with_copies(
    fun: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None,
    explicit: Explicit | None,
    guard: Guard,
) -> Traced:
    """u = u0.copy(); u[1:] = x → traced on a copy of f in which u0 is a traced array; else the trace of f.

    A copy is traced only if f writes traced values into what is computed of arrays from outside, or gives them to a
    method of such an array.
    """
    try:
        return _traced(fun, args, kwargs, explicit, guard, stand_ins(guard.held))
    except UnrecordedError as error:
        # What the function does besides must not be done twice, nor to a copy of what it does it to.
        if guard.reason or not guard.still_holds:
            raise
        copies = Copies(guard.scopes, guard.held)
        again = copies.of(fun)
        scopes = [*guard.scopes, *copies.scopes]
        try:
            traced = _traced(
                again, args, kwargs, explicit, guard._replace(scopes=scopes), with_fresh_results(guard.held)
            )
        except Exception:
            raise error from None
        if copies.are_written():
            raise
        return traced


def _traced(
    fun: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None,
    explicit: Explicit | None,
    guard: Guard,
    patches: Patches,
) -> Traced:
    """f, (2.0,) → Traced: calls the function with tracers, and settles inputs, claims and decisions."""
    leaves, structure = flatten((tuple(args), dict(kwargs or {})))
    paths = argument_paths(fun, structure)
    types = [type_of(leaf, path) for leaf, path in zip(leaves, paths, strict=True)]
    with _labels(paths) as (labels, number):
        # While the trace lasts its inputs are its own; afterwards equal ones are one term, as are programs.
        own = [term(Input(a, type_, trace=number)) for a, type_ in zip(labels, types, strict=True)]
        tracers = [traced_argument(*argument) for argument in zip(own, leaves, paths, strict=True)]
        call = structure.unflatten(tracers)
        given = {t: as_array(x) for t, x in zip(own, leaves, strict=True) if not isinstance(x, Symbolic)}
        with (
            patched(patches, guard.scopes, guard.asking),
            recording() as claims,
            refusals() as refused,
            unchanged_arrays(definition(fun)),
            deciding(given, explicit) as asked,
        ):
            asked.attends = _call.__code__ if guard.attends else None
            try:
                result = _call(fun, *call)
            except Exception as error:  # of NumPy's or Python's own code, which may hide a refusal
                if refused and not isinstance(error, RelgradError):
                    raise refused[0] from None
                raise
            if refused:
                raise refused[0]
            outputs, out_structure = _outputs(result, fun)
            asked.complete(outputs)
    _check_arguments(fun, call, tracers, structure)
    inputs = [term(Input(label, type_)) for label, type_ in zip(labels, types, strict=True)]
    decisions = tuple(asked.decisions.values())
    roots = [*outputs, *without_anchors([d.term for d in decisions])]
    roots = _with_numbers(roots, set(tracing.numbers or ()))
    roots, claims = _settled(roots, claims, dict(zip(own, inputs, strict=True)))
    known, results, assumed = apply(inputs, roots, claims) if claims else (inputs, roots, ())
    count = len(outputs)
    decisions = tuple([d._replace(term=t) for d, t in zip(decisions, results[count:], strict=True)])
    return Traced(
        tuple(known),
        tuple(results[:count]),
        structure,
        out_structure,
        tuple(paths),
        assumed,
        decisions=decisions,
        told=asked.told,
        silent=asked.silent,
        numbers=guard.numbers,
    )


def with_symbolic_arrays(args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, Any]:
    """(array of floats, 2) → (Tracer(constant), 2): a call's arguments inside a trace, floating arrays as constants.

    NumPy would compute with them on the spot, overflow included, before any relation can look.
    """
    leaves, structure = flatten((tuple(args), dict(kwargs)))
    paths = structure.paths("arguments")
    return structure.unflatten(
        [
            traced_argument(strong(as_term(x)), x, path)
            if issubclass(type(x), np.ndarray) and x.dtype.kind == "f"
            else x
            for x, path in zip(leaves, paths, strict=True)
        ]
    )


def _call(fun: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """f, args → f(*args); a hidden TraceError itself; endless recursion, what C says of tracers → TraceError."""
    try:
        return fun(*args, **kwargs)
    except ValueError as error:
        # `array[i] = x`: NumPy hides the error of `float(x)` behind one of its own.
        if isinstance(error.__cause__, TraceError):
            raise error.__cause__ from None
        raise
    except TypeError as error:
        named = any(f"'{cls.__name__}'" in str(error) for cls in (Tracer, Flat))
        if isinstance(error, RelgradError) or not named:
            raise
        lines = [f"{f.filename}:{f.lineno}" for f in extract_tb(error.__traceback__) if is_users(f.filename)]
        raise TraceError(
            str(error),
            where=lines[-1] if lines else definition(fun),
            cause="it takes NumPy's own arrays only, and a traced array is none",
            cure="write it with NumPy's functions, with operators, or with methods of the array, such as x.sum()",
        ) from error
    except RecursionError as error:
        if isinstance(error, TraceError):
            raise
        raise TraceError(
            f"{_name(fun)} calls itself more than {sys.getrecursionlimit()} levels deep",
            where=definition(fun),
            cause="the recursion never ends, or it ends on a condition that is never met while the function is traced",
            cure="end it on what is static, such as len(x) or a Python number, or write a loop",
        ) from error


def _check_arguments(fun: Callable[..., Any], call: Any, tracers: list[Tracer], structure: Structure) -> None:
    """p["w"] = x, p an argument → TraceError: a function must not change the containers among its arguments:
    they are copies.
    """
    leaves, after = flatten(call)
    if after == structure and all(x is y for x, y in zip(leaves, tracers, strict=True)):
        return
    raise TraceError(
        f"{_name(fun)} changes a container among its arguments",
        where=definition(fun),
        cause="containers of traced arrays are taken apart and put together anew, so that the caller would not see it",
        cure="copy it first, as in params = dict(params), and return what the caller needs",
    )


def _with_numbers(roots: Sequence[Term], made: set[Term]) -> list[Term]:
    """x·exp(0.1) → x·1.105…, exp(x) − exp(0.1) → itself: functions of numbers are terms beside those of an input.

    Elsewhere nothing would be known better of them than of numbers.
    """
    if not made:
        return list(roots)
    every, fixed = list(subterms(*roots)), set[Term]()
    for t in every:
        if type(t.op) is Constant or (t.rands and fixed.issuperset(t.rands)):
            fixed.add(t)
    met = {t.op for t in every if t not in fixed}

    def change(old: Term, rands: tuple[Any, ...]) -> Term:
        """exp(0.1) → 1.105…, 2·exp(0.1) → 2.21…, unless exp is met."""
        new = remade(old, rands)
        alone = old in made and old.op not in met
        if alone or (new is not old and all(type(x.op) is Constant for x in rands)):
            return constant(interpret([new], {})[0])
        return new

    return rebuild(roots, change)


def _settled(
    outputs: Sequence[Term], claims: Sequence[Claim], inputs: Mapping[Term, Term]
) -> tuple[list[Term], list[Claim]]:
    """sin(x of trace 7) → sin(x): the inputs of a trace replaced by those of every trace with the same signature.

    Raises TraceError for inputs of other traces, unless this one is nested in them.
    """

    def change(old: Term, rands: tuple[Any, ...]) -> Term:
        """input of this trace → the common one, of a trace around → itself, of another → TraceError."""
        if rands:
            return term(old.op, *rands, type_=old.type)
        if (
            type(old.op) is Input
            and old.op.trace
            and old not in inputs
            and old.op.trace not in _active.numbers
        ):
            raise TraceError(
                f"the result depends on {old.op}, a traced array of another call, which is none of its arguments",
                cause="it was kept in a list, an attribute, a global variable, or by another thread",
                cure="pass the array as an argument, or keep results of the call instead",
            )
        return inputs.get(old, old)

    settled = rebuild([*outputs, *(claim.term for claim in claims)], change)
    after = [c._replace(term=t) for c, t in zip(claims, settled[len(outputs) :], strict=True)]
    return settled[: len(outputs)], after


TEXTS = (str, bytes, Enum)
"""Classes of what stands in results beside arrays: what it says was decided, or the function is traced at each call."""


def _outputs(result: Any, fun: Callable[..., Any]) -> tuple[list[Term], Structure]:
    """{"a": tracer, "b": 2} → [term, 2], structure: the terms of a result; raises TraceError for what holds no
    array.
    """
    leaves, structure = flatten(result)
    name = _name(fun)
    where = definition(fun)
    for path, value in structure.statics("result"):
        if isinstance(value, TEXTS):
            continue
        raise TraceError(
            f"the {path} of {name} is a {type(value).__name__}, not an array: {value!r}",
            where=where,
            cause="the result of a traced function is made of arrays and numbers, in containers",
            cure="return arrays, numbers, None, text, and dicts, lists, tuples or dataclasses of them",
        )
    if not leaves:
        raise TraceError(
            f"{name} returns {'None' if structure == NONE else 'no array'}",
            where=where,
            cause="a `return` is missing, or what it returns holds no array",
            cure="return the arrays that the function computes",
        )
    paths = structure.paths("result")
    arrays = [
        x if isinstance(x, Symbolic) else as_array(x, path) for path, x in zip(paths, leaves, strict=True)
    ]
    return [strong(as_term(x)) for x in arrays], structure


def _name(fun: Any) -> str:
    name = getattr(fun, "__name__", None) or type(fun).__name__
    return "the function" if name == "<lambda>" else f"{name}()"


def definition(fun: Any) -> str | None:
    """Return `file:line` at which a function is defined, if it has one."""
    code = getattr(inspect.unwrap(fun), "__code__", None) if callable(fun) else None
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else None


class _Active(threading.local):
    """labels = {x}, numbers = (7,): the traces that this thread is in the middle of."""

    def __init__(self) -> None:
        self.labels: set[str] = set()
        self.numbers: tuple[int, ...] = ()


_active = _Active()
_number = itertools.count(1)


@contextmanager
def _labels(paths: Sequence[str]) -> Iterator[tuple[list[str], int]]:
    """["x", "p['w']"] → ["x", "p_w"], 7: labels for inputs, and a number for their trace.

    Distinct identifiers, none of a trace around this one. Equal inputs are one term. If a function that is traced
    inside
    another had inputs of the same names and types, its own would be taken for those of the other, which it may see
    through its closure.
    """
    taken = set(_active.labels)
    labels: list[str] = []
    for path in paths:
        base = re.sub(r"\W+", "_", path).strip("_") or "x"
        base = f"x{base}" if base[0].isdigit() else f"{base}_" if base == "np" else base
        label, i = base, 2
        while label in taken:
            label, i = f"{base}_{i}", i + 1
        taken.add(label)
        labels.append(label)
    before = _active.labels, _active.numbers, tracing.wrapper
    number = next(_number)
    _active.labels, _active.numbers = taken, (*_active.numbers, number)
    tracing.wrapper = Tracer
    try:
        yield labels, number
    finally:
        _active.labels, _active.numbers, tracing.wrapper = before


def is_tracing() -> bool:
    """Whether this thread is in the middle of tracing a function."""
    return bool(_active.numbers)
