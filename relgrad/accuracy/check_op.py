"""Checking an op: whether what it declares of itself is so, found out by evaluating it.

Types, shapes, ranges, connections, inputs left alone, generated source, ball arithmetic, the pullback and the
pushforward against differences, and the laws of `Laws`. An op that lies in any of these is false, with a witness.

Source: for derivatives, the checker of HIPS autograd, which compares both modes with differences along directions.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from relgrad.accuracy.claims import CLAIMS, Application, Found
from relgrad.accuracy.report import Witness
from relgrad.accuracy.sample import moderate
from relgrad.errors import OpError, RelgradError
from relgrad.leaf import Input
from relgrad.looks import Shown
from relgrad.op import Op
from relgrad.term import term
from relgrad.types import POSITIVE, REAL, UNIT, Interval, array_type

SHAPES = ((2, 3), (3,), (), (3, 3), (1, 3))
BROADCAST = ((3,), (1,), (2, 3), ())
"""The shapes of operands where all have one, and where they broadcast."""
ARITIES = (1, 2, 3, 4)
ENOUGH, MIXED = 4, 12
"""So many applications are tried to operands of one shape, and to operands that broadcast."""


class Claim(NamedTuple):
    """(pullback, 12, None): not refuted at 12 inputs:
    = a claim of an op, how often it was tried, a witness against it.
    """

    what: str
    tried: int
    witness: Witness | None = None

    def __str__(self) -> str:
        return f"{self.what:14} {self.witness or f'not refuted at {self.tried} inputs'}"


@dataclass(frozen=True)
class OpCheck(Shown):
    """check(op).ok ⟺ no claim has a witness: → the findings about an op."""

    name: str
    claims: tuple[Claim, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing was refuted, and something was tried."""
        return self.witness is None and bool(self.claims)

    @property
    def witness(self) -> Witness | None:
        """An input at which something that the op says of itself is false, or None."""
        return next((claim.witness for claim in self.claims if claim.witness), None)

    @property
    def verdict(self) -> str:
        """→ "not refuted", "false" or "never defined"."""
        return "not refuted" if self.ok else "false" if self.witness else "never defined"

    def __str__(self) -> str:
        return "\n".join([f"{self.name}: {self.verdict}", *[f"  {claim}" for claim in self.claims]])

    __repr__ = __str__


def check_op(op: Op, examples: Sequence[Any] = (), seed: int = 0) -> OpCheck:
    """op at numbers → OpCheck: the findings about an op, by applying it to operands like the examples, if given.

    Without examples, operands are floats of equal or broadcasting shapes, as many as the op takes.

    Raises OpError where it can be applied to none of them.
    """
    rng = np.random.default_rng(seed)
    applications = list(_applications(op, examples, rng))
    if not applications:
        raise OpError(
            f"op {op} could be applied to no operands that were tried",
            cause="floats of the shapes " + ", ".join(map(str, SHAPES)),
            cure="pass operands as it takes them: rg.check(op, x, y)",
        )
    claims = []
    for what, claim in CLAIMS.items():
        tried, witness = 0, None
        for application in applications:
            for found in _asked(claim, application, rng):
                tried += 1
                if found is not None and witness is None:
                    witness = _witness(application, found)
        if tried:
            claims.append(Claim(what, tried, witness))
    return OpCheck(str(op), tuple(claims))


def _asked(claim: Any, application: Application, rng: np.random.Generator) -> Iterator[Found | None]:
    """claim(application) → None, Found, …: the outcome of a claim; an error is a lie too, but where the op has no
    answer.
    """
    try:
        with np.errstate(all="ignore"):
            yield from claim(application, rng)
    except RelgradError as error:
        if not isinstance(error, application.silent):
            yield Found(f"{type(error).__name__} is raised: {str(error).splitlines()[0]}")
    except Exception as error:
        yield Found(f"{type(error).__name__} is raised: {error}")


def _witness(application: Application, found: Found) -> Witness:
    inputs = found.inputs or {f"x{i}": x for i, x in enumerate(application.arrays)}
    return Witness(found.why, inputs, found.left, found.right)


def _applications(op: Op, examples: Sequence[Any], rng: np.random.Generator) -> Iterator[Application]:
    """op → op(x : (3,)), op(x : (2, 3) > 0), …: applications that the op can be evaluated at, of shapes and ranges."""
    if examples:
        given = [np.asarray(x) for x in examples]
        for interval in (None, REAL, POSITIVE, UNIT):
            arrays = given if interval is None else [_like(rng, x, interval) for x in given]
            yield from _applied(op, arrays, interval or REAL)
        return
    for arity in _arities(op):
        for drawn in (moderate, _integers):
            found = list(_of_shapes(op, arity, rng, drawn))
            yield from found
            if found:
                return


def _of_shapes(op: Op, arity: int, rng: np.random.Generator, drawn: Any) -> Iterator[Application]:
    """arity 2 → (3,) and (3,), (2, 1) and (3,), …: applications to arrays of one shape, and of shapes that broadcast.

    So many of each as are enough.
    """
    mixed = [c for c in product(BROADCAST, repeat=arity) if len(set(c)) > 1] if arity > 1 else []
    mixed = [mixed[int(i)] for i in rng.permutation(len(mixed))]
    for combinations, enough in (([(shape,) * arity for shape in SHAPES], ENOUGH), (mixed, MIXED)):
        found = 0
        for shapes in combinations:
            made = [
                application
                for interval in (REAL, POSITIVE, UNIT)
                for application in _applied(op, [drawn(rng, shape, interval) for shape in shapes], interval)
            ]
            found += bool(made)
            yield from made
            if found == enough:
                break


def _integers(rng: np.random.Generator, shape: tuple[int, ...], where: Interval) -> Any:
    return rng.integers(0 if where.low >= 0 else -4, 5, shape)


def _arities(op: Op) -> Sequence[int]:
    """add → (2,), an op that does not say → 1, 2, …: how many operands an op may take, the likeliest first."""
    known = op.arity
    if isinstance(known, int):
        return (known - (op.distance is not None),)
    for method in (op.make_node, op.output_type, op.compute):
        parameters = list(inspect.signature(method).parameters.values())
        if parameters and all(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters):
            return (len([p for p in parameters if p.default is p.empty]),)
    return ARITIES


def _like(rng: np.random.Generator, x: Any, interval: Interval) -> Any:
    return moderate(rng, x.shape, interval).astype(x.dtype) if x.dtype.kind == "f" else x


def _applied(op: Op, arrays: Sequence[Any], interval: Interval) -> Iterator[Application]:
    """op, [x, y] → Application, or nothing where it cannot be evaluated to finite numbers:
    shapes do not fit, for instance.
    """
    inputs = [
        term(Input(f"x{i}", array_type(x.dtype, x.shape), range=interval if x.dtype.kind == "f" else REAL))
        for i, x in enumerate(arrays)
    ]
    application = Application(op, inputs, [np.asarray(x) for x in arrays])
    try:
        with np.errstate(all="ignore"):
            application.node  # noqa: B018 - whether it can be applied
            results = application.results(application.arrays)
    except OpError:
        yield application  # it is applied, and does not do what it declares
        return
    except Exception:
        return  # not of these shapes
    if all(np.all(np.isfinite(r)) for r in results if np.asarray(r).dtype.kind == "f"):
        yield application
