"""Derivatives of functions on symbolic arrays: what the public transformations trace.

Each returns implicit gradients in the graph; the scheduler expands them later.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from relgrad.errors import GradientError
from relgrad.gradient import (
    Anchor,
    Gradient,
    check_differentiable,
    fit_cotangent,
    gradient,
    ones_like,
    pushforward,
    zeros_like,
)
from relgrad.leaf import without_anchors
from relgrad.logic.build import fitted
from relgrad.logic.points import point_of
from relgrad.op import Project, as_term, constant, strong
from relgrad.ops.selection import where
from relgrad.term import Term, reachable, rebuild, remade, substitute, subterms, term
from relgrad.trace.arguments import handed_in
from relgrad.trace.assume import recording
from relgrad.trace.containers import NONE, Structure, flatten
from relgrad.trace.decisions import Decision, Elsewhere, is_deciding, supposing
from relgrad.trace.numbers import traced_argument
from relgrad.trace.outside import read
from relgrad.trace.refusal import tentative
from relgrad.trace.tracer import Tracer
from relgrad.types import ArrayType

_serial = itertools.count()


def positions_of(argnums: Any) -> tuple[int, ...]:
    """0 → (0,), [0, 2] → (0, 2): argnums as a tuple of integers; raises GradientError for what is none."""
    try:
        return tuple([operator.index(n) for n in (argnums if isinstance(argnums, Iterable) else (argnums,))])
    except TypeError:
        raise GradientError(
            f"argnums={argnums!r} is neither an integer nor a sequence of them",
            cause="it names positional arguments by their positions",
            cure="write argnums=0, or argnums=(0, 2); pass what is differentiated positionally",
        ) from None


def _positions(argnums: int | Sequence[int], count: int, fun: Callable[..., Any]) -> list[int]:
    """(−1, 3) → [2]: argnums as positions among so many arguments; raises GradientError for those that there are
    not.
    """
    chosen = positions_of(argnums)
    if not chosen:
        raise GradientError("argnums is empty", cause="nothing is asked for", cure="name an argument")
    for position in chosen:
        if not -count <= position < count:
            raise GradientError(
                f"argnums={argnums} does not name an argument of {getattr(fun, '__name__', 'the function')}",
                cause=f"the function was called with {count} positional arguments",
                cure="count positional arguments from 0; pass what is differentiated positionally",
            )
    return [position % count for position in chosen]


class _Argument:
    """{"w": [1.0, 2.0]} → {"w": variables}: an argument with its leaves made variables, distinct from everything else.

    A leaf without derivative (an integer, a boolean) is refused, or, if `lenient`, stays as it is.
    """

    def __init__(self, x: Any, name: str, lenient: bool):
        """x → leaves [Anchor(x)], value: the variables in the structure of the argument."""
        leaves, self.structure = flatten(x)
        terms = [strong(as_term(leaf)) for leaf in leaves]
        if not (terms or lenient):
            raise GradientError(
                f"cannot differentiate with respect to {name}, which holds no array",
                cause="derivatives are defined for floating point arguments only",
                cure="choose other arguments with argnums",
            )
        self.varies = [not lenient or t.type.differentiable for t in terms]
        paths = self.structure.paths(name)
        for t, path in zip(terms, paths, strict=True):
            if not lenient:
                check_differentiable(t, path)
        self.leaves = [
            term(Anchor(next(_serial)), t) for t, varies in zip(terms, self.varies, strict=True) if varies
        ]
        self.outline = _outline(self.structure, iter(self.varies))
        """The structure of what has a derivative; None stands for the rest."""
        variables = iter(self.leaves)
        self.value = self.structure.unflatten(
            [
                traced_argument(next(variables), x, path) if v else x
                for v, x, path in zip(self.varies, leaves, paths, strict=True)
            ]
        )

    def directions(self, tangent: Any) -> list[Any]:
        """{"w": ẇ} → [ẇ]: a tangent for each variable; those of what has no derivative may be None, and are ignored."""
        given, structure = flatten(tangent)
        if structure == self.structure:
            return [t for t, varies in zip(given, self.varies, strict=True) if varies]
        if _outline(structure, iter([True] * len(given))) == self.outline:
            return given
        raise GradientError(
            f"the tangents do not have the structure of the primals: {structure} for {self.structure}",
            cure="pass one tangent for each array among the primals, in containers of the same kind",
        )


def _outline(structure: Structure, varies: Iterator[bool]) -> Structure:
    """(x, 2, "relu") with only x varying → (x, None, None):
    a structure with None for static values and what does not vary.
    """
    if not structure.form.is_container:
        return structure if structure.size and next(varies) else NONE
    children = tuple([_outline(child, varies) for child in structure.children])
    return Structure(structure.form, structure.detail, structure.keys, children, structure.order)


class _Variables:
    """f(x, y), argnums = 0 → f(x̃, y): the arguments of a call with those that are differentiated made variables."""

    def __init__(
        self,
        fun: Callable[..., Any],
        argnums: int | Sequence[int],
        args: tuple[Any, ...],
        lenient: bool = False,
    ):
        """argnums, args → positions, arguments by position, and `args` for the call."""
        self.positions = _positions(argnums, len(args), fun)
        self.single = not isinstance(argnums, Iterable)
        # A position that is named twice is one argument.
        self.arguments = {
            p: _Argument(args[p], f"argument {p}", lenient) for p in dict.fromkeys(self.positions)
        }
        self.leaves = [x for argument in self.arguments.values() for x in argument.leaves]
        self.args = [self.arguments[i].value if i in self.arguments else x for i, x in enumerate(args)]

    def unflatten(self, values: Iterable[Any]) -> Any:
        """[g_x, g_y] → (g_x, g_y), or g_x for argnums = 0:
        one value a variable, arranged as the differentiated arguments are.
        """
        rest = iter(values)
        parts = {
            p: argument.outline.unflatten(itertools.islice(rest, argument.outline.size))
            for p, argument in self.arguments.items()
        }
        return parts[self.positions[0]] if self.single else tuple([parts[p] for p in self.positions])


ALTERNATIVES = 3
"""So many questions that have their answers at one point are answered the other way, too."""


def _is_at_point(question: Term, answers: Mapping[Term, Any]) -> bool:
    """x == 0: True; x < 1: False, x > 1: False: whether a question is answered so at one point alone."""
    found, mirrored = point_of(question), question.op.mirrored
    if found is not None or mirrored is None:
        return found is not None and found[1] == answers[question]
    return (
        answers.get(mirrored.make_node(*question.rands)) == answers[question] == question.op.compute(0.0, 0.0)
    )


class _Called(NamedTuple):
    """f(x) → [y], structure, [y near x]: the outputs in this call, leaf by leaf, and as they are differentiated."""

    outputs: list[Any]
    structure: Structure
    near: list[Any]


def _called(fun: Callable[..., Any], variables: _Variables, kwargs: Mapping[str, Any]) -> _Called:
    """Call a function with variables of differentiation; a branch that is taken at one point is joined with the other.

        if x == 0: return 1.0    ⟶    where(x == 0, 1.0, sin(x)/x)
        return sin(x)/x

    The branch at the point alone has no slope there: that is the other one's, where both have one limit. A function is
    called again if it reads and changes nothing outside that a guard does not see.
    """
    if not is_deciding():
        outputs, structure = flatten(fun(*variables.args, **kwargs))
        return _Called(outputs, structure, outputs)
    guard = read(fun, handed_in(variables.args, kwargs))
    points: dict[Term, bool] = {}
    with supposing({}) as asked:
        outputs, structure = flatten(fun(*variables.args, **kwargs))
        for question, answer in (answers := dict(asked)).items():
            if not reachable(question).isdisjoint(variables.leaves):
                del asked[question]
                if np.ndim(answer) == 0 and len(points) < ALTERNATIVES and _is_at_point(question, answers):
                    points[question] = answer
    result = _Called(outputs, structure, outputs)
    if not points or guard.reason or not guard.still_holds:
        return result

    def branch(told: Mapping[Term, bool]) -> list[Any] | None:
        """{x > 0: False} → [the other formula]: the leaves where questions have other answers;
        None if the function has none.
        """
        try:
            with tentative(), supposing(told), recording() as claims:
                leaves, found = flatten(fun(*variables.args, **kwargs))
        except Elsewhere as here:  # as x > 0 is next to 0
            question = here.question
            return (
                None
                if question is None or len(told) > ALTERNATIVES
                else chosen(question, *(branch({**told, question: answer}) for answer in (True, False)))
            )
        except Exception:
            return None
        alike = found == structure and all(
            np.shape(x) == np.shape(y) for x, y in zip(leaves, outputs, strict=True)
        )
        return leaves if alike and not claims else None

    def joined(left: Sequence[Term], told: Mapping[Term, bool]) -> list[Any] | None:
        """[x ≥ 0] → where(x ≥ 0, taken, other): the leaves chosen by the questions that are asked at one point."""
        if not left:
            return branch(told) if told else outputs
        question, *rest = left
        taken, other = joined(rest, told), joined(rest, {**told, question: not points[question]})
        return chosen(question, *((taken, other) if points[question] else (other, taken))) or taken

    def chosen(question: Term, true: list[Any] | None, false: list[Any] | None) -> list[Any] | None:
        if true is None or false is None:
            return None
        return [np.where(Tracer(question), x, y) for x, y in zip(true, false, strict=True)]

    return result._replace(near=joined(list(points), {}) or outputs)


def as_decided(terms: Sequence[Term], decisions: Iterable[Decision]) -> list[Term]:
    """Return terms with branches in place of choices between them that were decided.

    where(x == 0, 1.0, sin(1/x)) ⟶ 1.0    in the program of calls at x == 0

    Where all entries are at a point each of them is; where not all are, some may be.
    """
    answers: dict[Any, bool] = {}
    for d in decisions:
        if type(d.answer) is bool:
            answers[d.term] = d.answer
            if (found := point_of(d.term)) is not None:
                answers[found[0]] = found[1] == d.answer
    choices = [t for t in subterms(*terms) if t.op is where] if answers else []
    known: dict[Term, bool] = {}
    for t, condition in zip(choices, without_anchors([t.rands[0] for t in choices]), strict=True):
        if condition in answers:
            known[t] = answers[condition]
        elif (found := point_of(condition)) is not None:
            there = answers.get(found[0]._replace(tied=None))
            if there or (there is not None and found[0].tied is None):
                known[t] = found[1] == there

    def change(old: Term, rands: tuple[Any, ...]) -> Any:
        new = fitted(rands[1 if known[old] else 2], old) if old in known else None
        return remade(old, rands) if new is None else new

    return rebuild(terms, change) if known else list(terms)


def _scalar(out: Any, fun: Callable[..., Any]) -> Term:
    """f(x) : () → its term; raises GradientError for an output that is no scalar float."""
    name = getattr(fun, "__name__", "the function")
    try:
        cost = strong(as_term(out))
    except Exception:
        cost = None
    if cost is None or not isinstance(cost.type, ArrayType) or cost.type.shape != ():
        got = type(out).__name__ if cost is None else f"shape {cost.type.shape}"
        raise GradientError(
            f"grad needs a function that returns a scalar; {name} returned {got}",
            cause="the gradient is that of one number",
            cure="sum the result, or use jacobian or vjp",
        )
    if not cost.type.differentiable:
        raise GradientError(
            f"grad needs a function that returns a float; {name} returned {cost.type.dtype}",
            cure="cast the result with .astype(float) if its derivative means anything",
        )
    return cost


def value_and_gradient(
    fun: Callable[..., Any], argnums: int | Sequence[int], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, Any]:
    """f, x → f(x), ∂f/∂x: a value and its implicit gradient in the structure of the arguments named by argnums."""
    if _holds_unknowns(args):
        value = as_term(fun(*args, **kwargs))
        chosen = [args[p] for p in _positions(argnums, len(args), fun)]
        gradients = _of_pattern(value, constant(1.0), chosen)
        return Tracer(value), gradients if isinstance(argnums, Iterable) else gradients[0]
    variables = _Variables(fun, argnums, args)
    called = _called(fun, variables, kwargs)
    cost, near = (_scalar(called.structure.unflatten(x), fun) for x in (called.outputs, called.near))
    gradients = gradient([(near, ones_like(near))], variables.leaves)
    return Tracer(_plain(cost, variables)), variables.unflatten([Tracer(g) for g in gradients])


def _holds_unknowns(args: Iterable[Any]) -> bool:
    """Whether logic variables are among symbolic arguments: what is made of them is a pattern, and has no shape."""
    return any(isinstance(x, Tracer) and not getattr(x.term, "ground", False) for x in args)


def _of_pattern(value: Any, cotangent: Any, wrt: Sequence[Any]) -> tuple[Any, ...]:
    """Return the patterns of the implicit gradients of ⟨cotangent, value⟩; logic variables are what they are by."""
    node = term(Gradient(1), value, cotangent, *map(as_term, wrt))
    return tuple([Tracer(term(Project(i), node)) for i in range(len(wrt))])


def _plain(value: Term, variables: _Variables) -> Term:
    """Return a value without the variables of differentiation in it."""
    (result,) = substitute([value], {a: a.rands[0] for a in variables.leaves})
    return result


def pull_along(fun: Callable[..., Any], primals: tuple[Any, ...], cotangent: Any) -> tuple[Any, ...]:
    """f, x, ȳ → ȳᵀ·∂f/∂x: the implicit cotangents of the primals, given one for the result in the result's
    structure.
    """
    if _holds_unknowns((*primals, cotangent)):
        return _of_pattern(as_term(fun(*primals)), as_term(cotangent), primals)
    variables = _Variables(fun, range(len(primals)), primals, lenient=True)
    _, structure, outputs = _called(fun, variables, {})
    given, shape = flatten(cotangent)
    if shape != structure:
        raise GradientError(
            f"the cotangent does not have the structure of the result: {shape} for {structure}",
            cure="pass one cotangent for each array in the result, in containers of the same kind",
        )
    pairs = []
    for out, g in zip(outputs, given, strict=True):
        value, flow = strong(as_term(out)), strong(as_term(g))
        if flow.type.shape != value.type.shape:
            raise GradientError(
                f"a cotangent of shape {flow.type.shape} for a result of shape {value.type.shape}"
            )
        if value.type.differentiable:
            pairs.append((value, fit_cotangent(flow, value)))
    return variables.unflatten([Tracer(g) for g in gradient(pairs, variables.leaves)])


def push_along(fun: Callable[..., Any], primals: Any, tangents: Any) -> tuple[Any, Any]:
    """f, x, ẋ → f(x), ∂f/∂x·ẋ: a value and its implicit derivative along tangents, both in the structure of the
    result.
    """
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise GradientError(
            "primals and tangents must be tuples", cure="write (x,) and (v,) for one argument"
        )
    if len(primals) != len(tangents):
        raise GradientError(f"{len(tangents)} tangents for {len(primals)} primals")
    variables = _Variables(fun, range(len(primals)), tuple(primals), lenient=True)
    given = [t for x, v in zip(variables.arguments.values(), tangents, strict=True) for t in x.directions(v)]
    directions = []
    for x, t in zip(variables.leaves, given, strict=True):
        direction = strong(as_term(t), x.type.dtype)
        if direction.type.shape != x.type.shape:
            raise GradientError(
                f"a tangent of shape {direction.type.shape} for a primal of shape {x.type.shape}"
            )
        directions.append(fit_cotangent(direction, x))
    outputs, structure, near = _called(fun, variables, {})
    values = [strong(as_term(out)) for out in outputs]
    pushed = pushforward([strong(as_term(out)) for out in near], variables.leaves, directions)
    plain = [Tracer(_plain(v, variables)) for v in values]
    return structure.unflatten(plain), structure.unflatten([Tracer(t) for t in pushed])


def jacobian_of(
    fun: Callable[..., Any], argnums: int | Sequence[int], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """J_ij = ∂f_i/∂x_j: the implicit Jacobian, for each entry of each result the gradient, stacked.

    Its shape is the result's shape followed by the argument's. Results may be nested; their shapes must be
    known.
    """
    variables = _Variables(fun, argnums, args)
    _, structure, outputs = _called(fun, variables, kwargs)
    return structure.unflatten([_rows(strong(as_term(out)), variables) for out in outputs])


def _rows(value: Term, variables: _Variables) -> Any:
    """y : (2,), x : (3,) → array of shape (2, 3): the Jacobian of one result, an implicit gradient for each of its
    entries.
    """
    size = value.type.size
    if size is None:
        raise GradientError("the Jacobian of a result of unknown shape cannot be laid out")
    rows = []
    for i in range(size):
        unit = np.zeros(size, value.type.dtype)
        unit[i] = 1
        rows.append(gradient([(value, constant(unit.reshape(value.type.shape)))], variables.leaves))
    columns = []
    for j, x in enumerate(variables.leaves):
        parts = [Tracer(row[j]) for row in rows] or [Tracer(zeros_like(x))][:0]
        shape = value.type.shape + x.type.shape
        stacked = np.stack(parts) if parts else Tracer(constant(np.zeros(shape, x.type.dtype)))
        columns.append(np.reshape(stacked, shape))
    return variables.unflatten(columns)
