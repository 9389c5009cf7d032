"""A relation: a row of mathematics, and the goal that it makes.

A row is an equation that holds over the reals on its domain: name, left, right, conditions, source. That the right
side is better in floats is its orientation, left to right. A library is a value: rows, indexed by their heads.
"""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from traceback import walk_tb
from types import ModuleType
from typing import Any

from relgrad.errors import RelationError, RelgradError, is_users
from relgrad.importable import Immutable, imported, is_importable
from relgrad.logic.conditions import (
    Goal,
    additive,
    constant_along,
    exact_at_minus_one,
    finite,
    maybe_large,
    maybe_nonpositive,
    negative,
    nonnegative,
    number,
    positive,
    same_shape,
    unknown,
    unrounded,
    varying_along,
)
from relgrad.logic.directions import direction_cosineo
from relgrad.logic.goals import relateo
from relgrad.logic.index import Index, Pattern, compile_pattern
from relgrad.logic.theory import in_product, in_sum, is_contraction, theories_of
from relgrad.logic.unify import fresh, is_variable, unknowns
from relgrad.logscale.deviations import centredo
from relgrad.logscale.logarithms import (
    logarithmo,
    product_logarithmo,
    unlike_exponentials,
)
from relgrad.logscale.probabilities import centred_exponentso, entrieso, log_probabilityo
from relgrad.logscale.quotients import normalizedo
from relgrad.looks import Shown
from relgrad.op import as_term, is_constant
from relgrad.term import Term, is_term, subterms
from relgrad.trace.tracer import Tracer

__all__ = [
    "Library",
    "Relation",
    "additive",
    "centred_exponentso",
    "centredo",
    "constant_along",
    "direction_cosineo",
    "entrieso",
    "exact_at_minus_one",
    "finite",
    "log_probabilityo",
    "logarithmo",
    "maybe_large",
    "maybe_nonpositive",
    "negative",
    "nonnegative",
    "normalizedo",
    "number",
    "positive",
    "product_logarithmo",
    "relation",
    "same_shape",
    "unknown",
    "unlike_exponentials",
    "unrounded",
    "varying_along",
]


@dataclass(frozen=True, eq=False)
class Relation(Immutable, Shown):
    """An equation `left = right` between two patterns, true over the reals wherever the conditions hold.

    Called with two terms or logic variables it is a kanren goal, which runs in both directions.
    """

    name: str
    left: Any
    right: Any
    function: Callable[..., Any]
    variables: tuple[Any, ...]
    source: str = ""
    conditions: tuple[Goal, ...] = ()

    @property
    def doc(self) -> str:
        """The docstring of the row: its law in the author's words."""
        return inspect.getdoc(self.function) or ""

    @cached_property
    def summary(self) -> str:
        """The first line of what the row says, or its source."""
        return self.doc.partition("\n")[0] or self.source

    @property
    def place(self) -> str:
        """Where the row is written: file and line."""
        code = inspect.unwrap(self.function).__code__
        return f"{code.co_filename}:{code.co_firstlineno}"

    @cached_property
    def pattern(self) -> Pattern:
        """The left side, read for matching."""
        return compile_pattern(self.left)

    @cached_property
    def specificity(self) -> tuple[int, int, int, int]:
        """sin(a)·cos(a) → (2, 0, −1, 1): how much the left side demands:
        its heads, its constants, few variables, its products.
        """
        parts = list(subterms(self.left))
        constants = sum(1 for t in parts if is_constant(t))
        read = sum(1 for t in parts if (in_product(t.op) or in_sum(t.op)) and not is_contraction(t))
        return len(parts) - constants - read, constants, -len(self.variables), read

    def __call__(self, u: Any, v: Any) -> Goal:
        """Construct a goal stating that v is u with this equation applied at its root."""
        return relateo(u, v, self.left, self.right, self._renamed_conditions, self.can_hold)

    def can_hold(self, t: Term) -> bool:
        """Whether the left side may stand at the root of a ground term, by the heads that it demands."""
        anything = self.pattern.kind == "anything" or self.left.ground
        return anything or bool(self._index.candidates(t, theories_of(t.op)))

    @cached_property
    def _index(self) -> Index:
        return Index([self.pattern])

    def _renamed_conditions(self, renaming: dict[Any, Any]) -> Sequence[Goal]:
        return _sides(self.function, [renaming.get(v, v) for v in self.variables])[2]

    def __repr__(self) -> str:
        return f"<relation {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """row → (imported, its home), or what authors it anew: how it is pickled."""
        home = self.function.__module__, self.function.__qualname__
        # A decorated row hides its function, which pickle could not find.
        return (
            (imported, home)
            if is_importable(self, *home)
            else (_authored, (self.function, self.name, self.source))
        )


def relation(function: Callable[..., Any] | None = None, *, source: str = "") -> Any:
    """Make a relation of a function of its variables that returns `left, right`, and conditions after them.

    A parameter named `axis` (or ending in `_axis`) stands for the axes of a reduction; reductions keep their axes.

    >>> import numpy as np
    >>> @relation(source="definition of the logarithm")
    ... def log_of_exponential(x):
    ...     '''The logarithm undoes the exponential.'''
    ...     return np.log(np.exp(x)), x
    >>> log_of_exponential
    <relation log_of_exponential>

    Raises RelationError where the function does not return an equation.
    """

    def author(function: Callable[..., Any]) -> Relation:
        """f(x) = (left, right, conditions) → Relation; raises RelationError for a right side with variables that
        nothing binds.
        """
        name = getattr(function, "__name__", "relation")
        variables = tuple(fresh(p) for p in inspect.signature(function).parameters)
        left, right, conditions = _authored_sides(function, variables)
        if not is_term(left):
            raise RelationError(
                f"the left side of {name} is a bare variable", cause="it would match every term"
            )
        known = unknowns(left).union(*[getattr(condition, "finds", ()) for condition in conditions])
        missing = unknowns(right) - known
        if missing:
            raise RelationError(
                f"the right side of {name} uses {', '.join(map(str, missing))}, which its left side does not have",
                cure="every variable on the right must stand on the left, or be found by a condition",
            )
        loose = [v for v in variables if v not in known]
        if loose:
            raise RelationError(
                f"{name} has {', '.join(map(str, loose))}, which its left side does not have",
                cause="nothing would ever bind it, so that a condition on it could not be decided",
                cure="write every parameter into the left side, or leave it out",
            )
        return Relation(name, left, right, function, variables, source, tuple(conditions))

    return author if function is None else author(function)


def _authored(function: Callable[..., Any], name: str, source: str) -> Relation:
    return replace(relation(function, source=source), name=name)


def is_axis(name: str) -> bool:
    """x → False, axis, first_axis → True: whether a parameter of a row stands for axes."""
    return name == "axis" or name.endswith("_axis")


def _sides(function: Callable[..., Any], variables: Sequence[Any]) -> tuple[Any, Any, Sequence[Goal]]:
    """f(a) → sin(−a), −sin(a), []: the sides and conditions that a function returns; raises RelationError for what is
    none.
    """
    names = list(inspect.signature(function).parameters)
    arguments = [v if is_axis(n) else Tracer(v) for n, v in zip(names, variables, strict=True)]
    result = function(*arguments)
    name = getattr(function, "__name__", "a relation")
    if not isinstance(result, tuple) or len(result) < 2:
        raise RelationError(
            f"{name} does not return an equation",
            cause="it returns one side only" if isinstance(result, Tracer) else f"it returns {result!r}",
            cure="return `left, right`, or `left, right, condition, …` with conditions such as positive(x)",
        )
    for i, condition in enumerate(result[2:]):
        if not callable(condition):
            raise RelationError(
                f"{name} does not return an equation: its {_part(i + 2)} is {condition!r}",
                cause="what comes after the two sides are conditions, which are goals",
                cure="write positive(x) for x > 0; the others are in relgrad.relation",
            )
    sides = []
    for i, side in enumerate(result[:2]):
        try:
            sides.append(side if is_variable(side) else as_term(side))
        except RelgradError as error:
            raise _of_part(error, f"{_part(i)} of {name}") from error
    return sides[0], sides[1], result[2:]


def _authored_sides(
    function: Callable[..., Any], variables: Sequence[Any]
) -> tuple[Any, Any, Sequence[Goal]]:
    """f(a) → sin(−a), −sin(a), []: as `_sides`; an exception names the part in which it was raised."""
    try:
        return _sides(function, variables)
    except Exception as error:
        found = _raising(function, error)
        if found is None:
            raise
        part, where = found
        name = getattr(function, "__name__", "a relation")
        if isinstance(error, RelgradError):
            raise _of_part(error, f"{part} of {name}") from error
        raise RelationError(
            f"{part} of {name} raised {type(error).__name__}: {error}", where=where
        ) from error


def _of_part(error: RelgradError, part: str) -> RelgradError:
    return type(error)(f"{part}: {error.what}", where=error.where, cause=error.cause, cure=error.cure)


def _part(i: int) -> str:
    """Return what the parts of a row are called.

    >>> [_part(i) for i in range(4)]
    ['the left side', 'the right side', 'condition 1', 'condition 2']
    """
    return ("the left side", "the right side")[i] if i < 2 else f"condition {i - 1}"


def _raising(function: Any, error: Exception) -> tuple[str, str] | None:
    """error → ("left side", "rows.py:7"): the part of a row in which an exception was raised, and its line; or None."""
    traced = error.__traceback__
    while traced is not None and traced.tb_frame.f_code is not getattr(function, "__code__", None):
        traced = traced.tb_next
    if traced is None:
        return None
    code = traced.tb_frame.f_code
    line, _, column, _ = [*code.co_positions()][traced.tb_lasti // 2]
    try:
        tree = ast.parse("".join(linecache.getlines(code.co_filename)))
    except (SyntaxError, ValueError):
        return None
    place = line or 0, column or 0
    for node in ast.walk(tree):
        value = getattr(node, "value" if isinstance(node, ast.Return) else "body", None)
        for i, part in enumerate(value.elts if isinstance(value, ast.Tuple) else ()):
            if (part.lineno, part.col_offset) <= place < (part.end_lineno or 0, part.end_col_offset or 0):
                below = [
                    f"{f.f_code.co_filename}:{n}"
                    for f, n in walk_tb(traced)
                    if is_users(f.f_code.co_filename)
                ]
                return _part(i), (below or [f"{code.co_filename}:{line}"])[-1]
    return None


class Library(Immutable, Shown):
    """Library([a, b]) = Library([b, a]): a set of relations, indexed by the heads that they need;
    their order means nothing.

    Precedence is derived: the most specific left side first, then by name. Raises RelationError where two different
    rows have one name; `extended` is how one replaces another.
    """

    def __init__(self, relations: Iterable[Relation]):
        """[a, a, b] → (a, b) in order of precedence, and an index of their left sides."""
        unique: dict[str, Relation] = {}
        for r in relations:
            other = unique.setdefault(r.name, r)
            if other is not r:
                raise RelationError(
                    f"two relations are named {r.name}",
                    where=f"{other.place} and {r.place}",
                    cause="a library knows its rows by their names, so that one of them would be lost",
                    cure="rename one, or replace the old one: library.extended(new)",
                )
        self.relations = tuple(sorted(unique.values(), key=lambda r: ([-n for n in r.specificity], r.name)))
        self._index = Index([r.pattern for r in self.relations])

    @classmethod
    def of(cls, *modules: ModuleType) -> Library:
        """Return the library of all relations that the modules define."""
        return cls(
            value for module in modules for value in vars(module).values() if isinstance(value, Relation)
        )

    def candidates(self, t: Term, readings: int) -> list[Relation]:
        """log(eˣ) → the row log(eᵃ) = a, …: in order of precedence the rows that a term can match at its root.

        `readings` are the theories, PRODUCT and SUM, under which it is read as well as for the op that it is.
        """
        return [self.relations[i] for i in self._index.candidates(t, readings)]

    def has_root(self, key: Any) -> bool:
        """Whether a left side is rooted in an op, or in a class of ops."""
        return self._index.has_root(key)

    def extended(self, *relations: Relation) -> Library:
        """Return a library with further rows; one of the same name replaces the old."""
        names = {r.name for r in relations}
        return Library((*(r for r in self.relations if r.name not in names), *relations))

    def restricted(self, *names: str) -> Library:
        """Return a library of the named rows only."""
        return Library(r for r in self.relations if r.name in names)

    def without(self, *names: str) -> Library:
        """Return a library that lacks the named rows."""
        return Library(r for r in self.relations if r.name not in names)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Library) and self.relations == other.relations)

    def __hash__(self) -> int:
        return hash(self.relations)

    def __reduce__(self) -> tuple[Any, ...]:
        return Library, (self.relations,)

    def __iter__(self) -> Iterator[Relation]:
        return iter(self.relations)

    def __len__(self) -> int:
        return len(self.relations)

    def __getitem__(self, name: str) -> Relation:
        for r in self.relations:
            if r.name == name:
                return r
        raise KeyError(name)
