"""A relation by example: two functions are given, and a row is proposed, with the conditions that it needs."""

from __future__ import annotations

import inspect
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, combinations
from pathlib import Path
from typing import Any

from relgrad.accuracy.check import check as quick_check
from relgrad.accuracy.report import Check, Witness
from relgrad.authoring.grounded import grounded, normal_form
from relgrad.authoring.written import Equation, Row, as_written, expression, of_terms
from relgrad.display.page import code, facts, framed, joined
from relgrad.display.reports import check_fragment
from relgrad.display.rows import law_of
from relgrad.display.text import show
from relgrad.errors import RelationError
from relgrad.examine import check
from relgrad.logic.equality import canonical_key
from relgrad.logic.index import head_key
from relgrad.logic.unify import is_variable
from relgrad.looks import Shown, html
from relgrad.op import as_term, is_constant
from relgrad.ops.arithmetic import add, subtract
from relgrad.ops.reduction import Reduction
from relgrad.relation import Library, Relation, is_axis, relation
from relgrad.term import Term, is_term, subterms
from relgrad.trace.tracer import Tracer

SIGNS = ("nonnegative", "positive", "negative")
"""What a variable may be required to be, the weaker before the stronger."""
MOST = 3
"""So many conditions are tried at once."""
TRIALS = 400
"""So many sets of conditions are tried."""
FEW = 24
"""At so many inputs a set of conditions is tried first."""


class Refuted(RelationError):
    """√x² = x − 1 → Refuted: two sides that differ under all conditions that were tried; without any at `witness`."""

    def __init__(self, what: str, witness: Witness | None, **kwargs: Any):
        super().__init__(what, **kwargs)
        self.witness = witness


@dataclass(frozen=True)
class Draft(Shown):
    """ "np.sqrt(x**2)", "x" → √x² = x where nonnegative(x): a row that is proposed; its `str` is the text to be pasted
    into `file`.

    `relation` is the row of this text, `check` what was found out about it, and `known` the relations by which the
    library makes the one side of the other already: empty where it does not.
    """

    row: Row
    relation: Relation
    check: Check
    file: str
    known: tuple[str, ...] = ()
    refuted: Witness | None = None
    """Where the sides differ without the conditions."""

    def __str__(self) -> str:
        return str(self.row)

    @property
    def notes(self) -> list[str]:
        """→ ["root_of_power: not refuted", …, "file relations/norms.py"]: the findings, and the place of the row."""
        lines = [f"  {name:10} {said}" for name, said in self.besides]
        return "\n".join([str(self.check), *lines]).split("\n")

    @property
    def besides(self) -> list[tuple[str, str]]:
        """→ [("file", "relations/norms.py"), …]: the place of the row, and further findings, by name."""
        known = f"the library does it already, by {', '.join(self.known)}" if self.known else ""
        pairs = [("file", self.file), ("otherwise", str(self.refuted or "")), ("known", known)]
        return [pair for pair in pairs if pair[1]]

    def __repr__(self) -> str:
        return "\n".join([str(self), "", *self.notes])


@html.register
def _(found: Draft) -> str:
    parts = [law_of(found.relation), code(str(found)), check_fragment(found.check), facts(found.besides)]
    return framed(joined(parts), f"a row that is proposed, {found.row.name}")


def draft(
    left: Any, right: Any, library: Library, name: str, doc: str, source: str, samples: int, seed: int
) -> Draft:
    """√x², x → √x² = x where nonnegative(x): the row of fewest conditions under which two sides are not refuted.

    Raises Refuted where there is none, RelationError where the sides make no relation.
    """
    sides = [_function(side, role) for side, role in ((left, "left side"), (right, "right side"))]
    example = relation(_example(*sides))
    if example.left is example.right:
        raise RelationError(
            f"both sides are {show(example.left)}",
            where="the right side",
            cause="NumPy writes one term in both ways",
            cure="write on the right what is to be computed instead",
        )
    name = name or _free(_named(example.left), example, library)
    equation = _equation(example, sides)
    variables = tuple(inspect.signature(example.function).parameters)
    first: Witness | None = None
    for conditions in _conditions(variables):
        stated = doc or _sentence(example, conditions)
        row = Row(name, variables, equation, conditions, stated, source)
        made = row.compiled()
        found = quick_check(made, FEW, seed, 0)
        if _holds(found):
            found = check(made, samples=samples, seed=seed)
        if _holds(found):
            known = _already(made, library) if conditions or not first else ()
            return Draft(row, made, found, _file(example, library), known, first)
        first = first or found.witness
    raise Refuted(
        f"{show(example.left)} is not {show(example.right)}",
        first,
        where=f"{name}, between its left and its right side",
        cause=str(first) if first else "the sides were never defined where they could be compared",
        cure=f"mend a side: conditions of {', '.join(SIGNS)} on {', '.join(variables)} do not help",
    )


def _holds(found: Check) -> bool:
    """check → True: whether a row was compared and not refuted, be it with a source or not."""
    return found.witness is None and found.compared > 0


def _function(side: Any, role: str) -> Callable[..., Any]:
    if isinstance(side, str):
        return expression(side, role)
    what = f"no function but {type(side).__name__}: {side!r}"
    if callable(side) and not isinstance(side, Tracer):
        what = f"a function whose parameters are no variables: {getattr(side, '__name__', side)}"
        with suppress(TypeError, ValueError):
            kinds = {p.kind for p in inspect.signature(side).parameters.values()}
            if kinds <= {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}:
                return side
    raise RelationError(
        f"the {role} is {what}",
        cause="the names of its parameters are the variables, each given by position",
        cure='write a lambda, such as lambda x: np.log(np.exp(x)), or text, "np.log(np.exp(x))"',
    )


def _example(left: Callable[..., Any], right: Callable[..., Any]) -> Callable[..., Any]:
    """x ↦ √x², x ↦ x → x ↦ (√x², x): the function of the left side's variables that returns both sides."""
    named, used = ([*inspect.signature(side).parameters] for side in (left, right))
    missing = [n for n in used if n not in named]
    if missing:
        raise RelationError(
            f"the right side has {', '.join(missing)}, which the left side does not have",
            where="the right side",
            cure="name the parameters of both sides alike: they are the variables",
        )
    if not named:
        raise RelationError(
            "the left side has no variables",
            where="the left side",
            cause="an equation between numbers rewrites nothing",
            cure='write a function of its variables, such as lambda x: np.exp(x), or "np.exp(x)"',
        )

    def equation(*values: Any) -> tuple[Any, Any]:
        given = dict(zip(named, values, strict=True))
        return left(*values), right(*[given[n] for n in used])

    equation.__name__ = "the new relation"
    equation.__signature__ = inspect.signature(left)  # pyright: ignore[reportFunctionMemberAccess]
    return equation


def _equation(example: Relation, sides: Sequence[Callable[..., Any]]) -> Equation:
    """x ↦ √x², x ↦ x → "np.sqrt(x**2)", "x": as written if that makes the same terms, else as the terms are."""
    written = [as_written(side) for side in sides]
    texts = [Equation(*written)] if None not in written else []  # pyright: ignore[reportArgumentType]
    variables = tuple(inspect.signature(example.function).parameters)
    for equation in [*texts, of_terms(example.left, example.right)]:
        try:
            again = Row("row", variables, equation).compiled()
            arguments = [
                v if is_axis(n) else Tracer(v) for n, v in zip(variables, example.variables, strict=True)
            ]
            made = [x if is_variable(x) else as_term(x) for x in again.function(*arguments)]
        except Exception:  # what is shown of some ops is no Python
            continue
        if show(made) == show((example.left, example.right)):
            return equation
    raise RelationError(
        f"{show(example.left)} = {show(example.right)} cannot be written as a row",
        cause="a side uses functions or constants that only its own file knows",
        cure="write both sides as single expressions of np.… and of relgrad's ops",
    )


def _conditions(variables: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """x → (), (nonnegative(x),), …: the smaller and the weaker first; of each variable at most one sign."""
    plain, axes = [n for n in variables if not is_axis(n)], [n for n in variables if is_axis(n)]
    atoms = [(sign, n) for sign in SIGNS for n in plain]
    atoms += [("constant_along", f"{n}, {axis}") for n in plain for axis in axes]
    atoms += [("same_shape", f"{a}, {b}") for a, b in combinations(plain, 2) if axes]
    sets = chain.from_iterable(combinations(atoms, size) for size in range(MOST + 1))
    fitting = (some for some in sets if max(Counter(about for _, about in some).values(), default=1) == 1)
    for some, _ in zip(fitting, range(TRIALS), strict=False):
        yield tuple([f"{condition}({about})" for condition, about in some])


def _sentence(example: Relation, conditions: Sequence[str]) -> str:
    """√x² = x → "sqrt(x ** 2) is x, for nonnegative(x).": the equation in words, as a docstring of one line."""
    left, right = (show(side, limit=12).partition("\n")[0] for side in (example.left, example.right))
    return f"{left} is {right}, for {' and '.join(conditions)}." if conditions else f"{left} is {right}."


def _named(left: Any) -> str:
    """log(sum(exp(x))) → "log_of_sum_of_exponentials": the heads from the root down, each `of` the next."""
    words: list[str] = []
    node: Any = left
    plural = ""
    while is_term(node) and not is_constant(node) and len(words) < 6:
        ones = [r for r in node.rands if is_constant(r) and r.op.value.ndim == 0 and r.op.value == 1]
        plain = [r for r in node.rands if is_term(r) and not is_constant(r)]
        if ones and (node.op is add or (node.op is subtract and node.rands[0] is ones[0])):
            words.append("one_plus" if node.op is add else "one_minus")
        else:
            words += [_word(node.op) + plural, "of"] if plain else [_word(node.op) + plural]
        several = isinstance(node.op, Reduction) or (len(plain) > 1 and len({r.op for r in plain}) == 1)
        plural = "s" if several else ""
        node = plain[0] if plain else None
    return "_".join(words).removesuffix("_of") or "relation"


def _word(op: Any) -> str:
    return op.word or str(op.name).lower()


def _free(name: str, example: Relation, library: Library) -> str:
    """ "root", which there is → "root_as_abs", "root2": a name that no row of a library has."""
    taken = {row.name for row in library}
    if name in taken and is_term(example.right):
        name = f"{name}_as_{_word(example.right.op)}"
    number = 1
    while name in taken:
        number += 1
        name = f"{name.rstrip('0123456789')}{number}"
    return name


def _heads(row: Relation) -> frozenset[Any]:
    sides = [side for side in (row.left, row.right) if isinstance(side, Term)]
    return frozenset(head_key(t.op) for t in subterms(*sides) if not is_constant(t))


def _file(example: Relation, library: Library) -> str:
    """√x² = |x| → "relations/norms.py": of the three rows that share most heads, the rarer the head the more."""
    heads = {row: _heads(row) for row in library}
    count = Counter(chain.from_iterable(heads.values()))
    mine = _heads(example)

    def likeness(theirs: frozenset[Any]) -> float:
        shared, either = (sum(1 / max(count[h], 1) for h in some) for some in (mine & theirs, mine | theirs))
        return shared / either if either else 0.0

    by_file: dict[str, list[float]] = defaultdict(list)
    for row, theirs in heads.items():
        by_file[row.place.rpartition(":")[0]].append(likeness(theirs))
    best = max(by_file, key=lambda file: sum(sorted(by_file[file])[-3:]), default="relations.py")
    return "/".join(Path(best).parts[-2:])


def _already(row: Relation, library: Library) -> tuple[str, ...]:
    """log eˣ = x → ("log_of_exponential",): the relations by which a library makes both sides the same."""
    for left, right in grounded(row, (row.left, row.right)):
        first, names = normal_form(left, library)
        second, _ = normal_form(right, library)
        if canonical_key(first) == canonical_key(second) and first is not left:
            return names
        break
    return ()
