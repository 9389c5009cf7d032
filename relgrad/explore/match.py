"""Matching and unification of NumPy expressions, for people.

An expression is a symbolic array, a number, or a function of its symbols; in a pattern the names of the parameters
are the variables.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from relgrad.errors import RelationError, TraceError
from relgrad.explore.answers import Answer, Answers, Question
from relgrad.explore.wordings import promoted
from relgrad.leaf import Input
from relgrad.logic.aco.goal import eq_aco
from relgrad.logic.aco.theory import AC, DECLARED, FREE, Theory
from relgrad.logic.equality import canonical_key
from relgrad.logic.goals import equalo
from relgrad.logic.unify import fresh, is_variable, label_of, reify_term, unify_terms, unknowns
from relgrad.op import as_term
from relgrad.ops.structure import Squeeze
from relgrad.relation import is_axis
from relgrad.term import is_term, term
from relgrad.trace.tracer import Tracer, wrap
from relgrad.types import array_type

ACU = DECLARED
"""Associativity, commutativity and identities where they are declared: there are far fewer unifiers than without."""

REALS = "reals"
"""The theory of the reals: products and sums as abelian groups, with inverses, powers and linear reductions."""


def variables(names: str) -> tuple[Any, ...]:
    """Return logic variables to write patterns with, one for each name; those named axis are for reductions.

    >>> a, b = variables("a b")
    >>> np.exp(a) + b
    Tracer(e(add, exp(…), ~b_...))

    Raises TraceError for what is no name.
    """
    if not isinstance(names, str):
        raise TraceError(f"variables takes names in one string, not {names!r}", cure='write variables("a b")')
    return tuple([_variable(name) for name in names.replace(",", " ").split()])


def _variable(name: str) -> Any:
    if not name.isidentifier():
        raise TraceError(f"{name!r} is no name of a variable", cure="use Python's identifiers")
    variable = fresh(name)
    return variable if is_axis(name) else Tracer(variable)


def match(pattern: Any, expression: Any, theory: Any = REALS, fuel: int | None = None) -> Answers:
    """Return what the variables of a pattern stand for where it is equal to an expression: p[answer] = expression.

    `theory` says modulo which laws: "reals", all that is known of real arithmetic; AC; ACU, DECLARED: all that ops
    declare and facts state; FREE: none. `fuel` bounds the search of the declared theories. Reductions keep their
    axes in patterns; axes that the expression drops at its end are then kept, with extent 1.

    >>> match(lambda a, b: np.exp(a) + b, lambda x, y: y + np.exp(x))
    a = x, b = y

    Raises RelationError where the expression has variables itself, TraceError for what is no expression.
    """
    names: dict[str, Any] = {}
    left = _expression(pattern, "pattern", lambda name: names.setdefault(name, _variable(name)))
    right = symbolic(expression)
    inside = unknowns(right)
    if inside:
        raise RelationError(
            f"the expression holds the variable {sorted(map(label_of, inside))[0]}",
            cause="match looks for a pattern in an expression without variables",
            cure="use symbols in the expression, made by relgrad.symbol, or relgrad.unify",
        )
    return _answers("match", left, right, names, theory, fuel)


def unify(left: Any, right: Any, theory: Any = DECLARED, fuel: int | None = None) -> Answers:
    """Return what the variables of two patterns stand for where they are equal: left[answer] = right[answer].

    Theories as in `match`; without identities there can be very many answers. Of two functions, parameters of one
    name are one variable. Variables that an answer leaves open are new ones.

    >>> unify(lambda a: np.exp(a), lambda b: np.exp(b * b))
    a = b * b

    Raises TraceError for what is no expression.
    """
    names: dict[str, Any] = {}

    def variable(name: str) -> Any:
        return names.setdefault(name, _variable(name))

    sides = _expression(left, "left side", variable), _expression(right, "right side", variable)
    return _answers("unify", *sides, names, theory, fuel)


def symbolic(x: Any) -> Any:
    """Return the term of an expression, of what a function of symbols returns, or of a number."""
    made = lambda name: Tracer(term(Input(name, array_type(np.float64), symbol=True)))
    return _expression(x, "expression", made)


def _expression(x: Any, role: str, argument: Callable[[str], Any]) -> Any:
    """lambda a: sin(a) → sin(a), 2 → constant: the term of an expression, or of a function of its names, or of a
    number.

    Raises TraceError for what is none.
    """
    if callable(x) and not isinstance(x, Tracer):
        try:
            parameters = inspect.signature(x).parameters.values()
        except (TypeError, ValueError):
            parameters = None
        if parameters is None or any(
            p.kind not in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters
        ):
            raise TraceError(
                f"the {role} is a function whose parameters have no names: {getattr(x, '__name__', x)}",
                cause="each name stands for a variable or a symbol",
                cure="write a lambda, such as lambda a, b: np.exp(a) + b",
            )
        x = x(*[argument(p.name) for p in parameters])
    if is_term(x) or is_variable(x):
        return x
    if isinstance(x, (Tracer, np.ndarray, np.generic, int, float)):
        return as_term(x)
    raise TraceError(
        f"the {role} is no expression but {type(x).__name__}: {x!r}",
        cause="expressions are symbolic arrays, numbers, or functions that return them",
        cure="write it with relgrad.variables and relgrad.symbol, or as a lambda",
    )


def _answers(
    what: str, left: Any, right: Any, named: Mapping[str, Any], theory: Any, fuel: int | None
) -> Answers:
    """(left, right) → Answers: lazily, the distinct states of the goal that the sides are equal, by variables'
    names.
    """
    if fuel is not None and (isinstance(fuel, bool) or not isinstance(fuel, int) or fuel < 0):
        raise TraceError(f"{what}: fuel={fuel!r} is no number of steps", cure="pass an integer, or None")
    by_name = _by_name([as_term(x) for x in named.values()], left, right)
    goal = _goal(what, _unsqueezed(left, right), _unsqueezed(right, left), theory, fuel)
    question = Question(left, right, by_name, _theory_in_words(theory))
    return Answers(tuple(by_name), _distinct(goal, by_name, question), question)


def _theory_in_words(theory: Any) -> str:
    """AC → "associativity and commutativity": a theory in words."""
    if theory == REALS:
        return "the laws of real arithmetic"
    known = {
        id(AC): "associativity and commutativity",
        id(DECLARED): "the laws that ops declare",
        id(FREE): "no law",
    }
    return known.get(id(theory), "the laws of a theory")


def _goal(what: str, left: Any, right: Any, theory: Any, fuel: int | None) -> Any:
    """(left, right, "reals") → equalo(left, right), AC → eq_aco(…):
    the goal of a theory; RelationError for what is none.
    """
    if isinstance(theory, str) and theory == REALS:
        return equalo(left, right)
    if not isinstance(theory, Theory):
        raise RelationError(
            f"{what}: unknown theory {theory!r}",
            cure='use "reals", or relgrad.AC, relgrad.ACU, relgrad.DECLARED, relgrad.FREE',
        )
    left, right = _beside(left, right), _beside(right, left)
    if theory is FREE:
        return lambda s: [state for state in [unify_terms(left, right, s)] if state is not False]
    return eq_aco(left, right, theory, fuel)


def _unsqueezed(x: Any, other: Any) -> Any:
    """Keep the axes that an expression drops at its end, where a pattern looks at what is below."""
    is_pattern = is_term(other) and not other.ground and type(other.op) is not Squeeze
    return x.rands[0] if is_pattern and is_term(x) and type(x.op) is Squeeze else x


def _beside(x: Any, other: Any) -> Any:
    """a + 1, beside x : float32 → a + float32(1): a pattern's bare numbers as they are beside a term."""
    is_pattern = is_term(x) and not x.ground and is_term(other) and other.ground
    return promoted(x, other.type.dtype) if is_pattern else x


def _by_name(given: Iterable[Any], *sides: Any) -> dict[str, Any]:
    """a·b, a + c → {a: …, b: …, c: …}: the variables of two sides by their names, in the order in which they come."""
    found = dict.fromkeys(given)
    stack, seen = [*reversed(sides)], set()
    while stack:
        part = stack.pop()
        if is_variable(part):
            found[part] = None
        elif is_term(part) and not part.ground and part not in seen:
            seen.add(part)
            stack += [*reversed(part.op._props()), *reversed(part.rands)]
    names: dict[str, Any] = {}
    for x in found:
        label = name = label_of(x)
        i = 1
        while name in names:
            i += 1
            name = f"{label}{i}"
        names[name] = x
    return names


def _distinct(goal: Any, by_name: Mapping[str, Any], question: Question) -> Iterator[Answer]:
    """states → Answer, …, each once: those whose values are equal modulo the theories are one."""
    seen = set()
    for state in goal({}):
        values = [reify_term(x, state) for x in by_name.values()]
        key = tuple([canonical_key(x) if is_term(x) and x.ground else x for x in values])
        if key not in seen:
            seen.add(key)
            yield Answer({name: wrap(x) for name, x in zip(by_name, values, strict=True)}, question)
