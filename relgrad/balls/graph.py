"""Graphs in ball arithmetic: what they are over the reals, each number with a bound of its error.

Source: Johansson 2017, Arb: efficient arbitrary-precision midpoint-radius interval arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from relgrad.errors import OpError
from relgrad.kernels.doubled.named import name_of
from relgrad.op import Constant
from relgrad.ops.arguments import as_balls
from relgrad.term import Term, subterms
from relgrad.types import ArrayType, TupleType

BITS = 64
"""How many bits of a number must be known before it is called settled."""
FIRST, LIMIT = 128, 8192
"""The working precision at first, and at last, in bits; it is doubled in between."""
_NOTHING = -1140
"""Below two to this power a number is zero in every format, whatever is known of it."""


class Enclosure(NamedTuple):
    """What is known of the entries of an array: balls, and which of them are narrow enough."""

    balls: Any
    settled: Any

    @property
    def middle(self) -> Any:
        """The midpoints as floats; NaN where nothing is settled."""
        flat = [nearest(b) if s else np.nan for b, s in zip(self.balls.flat, self.settled.flat, strict=True)]
        return np.array(flat, dtype=float).reshape(self.balls.shape)


def nearest(ball: Any) -> float:
    """Return the float nearest to the midpoint of a ball, which may be infinite."""
    if ball.is_finite():
        return float(ball.mid())
    return float("inf") if ball > 0 else float("-inf") if ball < 0 else float("nan")


def is_settled(ball: Any, bits: int = BITS) -> bool:
    """Whether a ball is an infinity, is known to so many bits, or is zero in every format."""
    import flint

    if not ball.is_finite():
        return ball.is_exact() and not ball.is_nan()
    return ball.rel_accuracy_bits() >= bits or bool(ball.abs_upper() < flint.arb(2) ** _NOTHING)


def named(value: Any) -> Any:
    """0.6931471805599453 → log 2, −1.5707963267948966 → −π/2, 0.5 → None: the ball of what a float is the name of, at
    the precision of the moment.
    """
    import flint

    if (found := name_of(value)) is None:
        return None
    pi = flint.arb.pi()
    values = {
        "ln2": flint.arb.const_log2,
        "ln10": flint.arb.const_log10,
        "pi": lambda: pi,
        "e": flint.arb.const_e,
        "euler": flint.arb.const_euler,
        "log_of_2pi": lambda: (2 * pi).log(),
        "root_of_2": lambda: flint.arb(2).sqrt(),
        "root_of_pi": lambda: pi.sqrt(),
        "degree": lambda: pi / 180,
        "radian": lambda: 180 / pi,
        "root_of_2pi": lambda: (2 * pi).sqrt(),
        "1/root_of_2pi": lambda: 1 / (2 * pi).sqrt(),
        "2/root_of_pi": lambda: 2 / pi.sqrt(),
    }
    name, scale = found
    return values[name]() * flint.fmpq(*scale.as_integer_ratio())


def evaluate(
    roots: Sequence[Term], values: Mapping[Term, Any], bits: int, nodes: Iterable[Term] | None = None
) -> list[Any]:
    """Return the roots as arrays of balls, given arrays of numbers or balls for the inputs, and the nodes, if they are
    known, operands first.

    A constant that is the name of another number, as 3.141592653589793 is of π, is that number.
    Each op is evaluated by its own declaration, `Op.ball`; ops on integers whose values are certain are
    computed as they are. Raises OpError where an op declares none, KeyError for an input without a value.
    """
    import flint

    known: dict[Term, Any] = {t: as_balls(v) for t, v in values.items()}
    with flint.ctx.workprec(bits), np.errstate(all="ignore"):
        for node in subterms(*roots) if nodes is None else nodes:
            if node in known:
                continue
            if not node.rands:
                known[node] = _number(node)
                continue
            found = _of_integers(node, known)
            if found is None:
                found = _ball(node, [known[rand] for rand in node.rands])
            known[node] = tuple(map(as_balls, found)) if isinstance(node.type, TupleType) else as_balls(found)
    return [known[root] for root in roots]


def _number(node: Term) -> Any:
    """0.5 → 0.5, 3.141592653589793 → π, at the precision of the moment; raises KeyError for an input."""
    if type(node.op) is not Constant:
        raise KeyError(node)
    if "ball" not in node.cache:
        number = named(node.op.value)
        if number is not None:
            return as_balls(number)
        node.cache["ball"] = as_balls(node.op.ball())
    return node.cache["ball"]


def _ball(node: Term, balls: Sequence[Any]) -> Any:
    import flint

    try:
        return node.op.ball(*balls)
    except (ArithmeticError, OpError) as error:
        # A matrix that may be singular, or integers that are not certain, at this precision.
        if isinstance(error, OpError) and not _on_integers(node):
            raise
        types: Any = node.type.outputs if isinstance(node.type, TupleType) else (node.type,)
        unknown = [np.full(t.shape, flint.arb.nan(), dtype=object) for t in types]
        return unknown if isinstance(node.type, TupleType) else unknown[0]


def _on_integers(node: Term) -> bool:
    types = [node.type, *[rand.type for rand in node.rands]]
    return all(isinstance(t, ArrayType) and t.dtype.kind in "biu" for t in types)


def _of_integers(node: Term, known: Mapping[Term, Any]) -> Any:
    """Return the value of an op on integers, or None for another op, or where they are not certain."""
    if not node.rands or not _on_integers(node):
        return None
    arrays = []
    for rand in node.rands:
        integers = [b.unique_fmpz() if b.is_exact() else None for b in known[rand].flat]
        if any(n is None for n in integers):
            return None
        info = np.iinfo(rand.type.dtype) if rand.type.dtype.kind in "iu" else None
        if info is not None and not all(info.min <= int(n) <= info.max for n in integers):  # type: ignore[arg-type]
            return None  # machine integers cannot hold it
        flat = np.array([int(n) for n in integers], dtype=object).astype(rand.type.dtype)  # type: ignore[arg-type]
        arrays.append(flat.reshape(known[rand].shape))
    return as_balls(node.op.evaluate(node, arrays)[0])


def enclose(
    roots: Sequence[Term],
    values: Mapping[Term, Any],
    bits: int = BITS,
    first: int = FIRST,
    limit: int = LIMIT,
) -> list[Enclosure]:
    """Return what the roots are over the reals: the precision is doubled until their entries are settled.

    What is not settled at the limit stays so: it may be undefined, infinitely large, or cancel to zero.
    """
    values = {t: as_balls(v) for t, v in values.items()}
    constants = [t for t in subterms(*roots) if type(t.op) is Constant and name_of(t.op.value) is None]
    values = {t: as_balls(t.op.ball()) for t in constants} | values
    check = np.frompyfunc(lambda b: is_settled(b, bits), 1, 1)
    best: list[Enclosure] = []
    precision = max(first, bits + bits // 2)
    while True:
        found = evaluate(roots, values, precision)
        settled = [np.asarray(check(b), dtype=bool) for b in found]
        if best:
            found = [np.where(old.settled, old.balls, new) for old, new in zip(best, found, strict=True)]
            settled = [old.settled | new for old, new in zip(best, settled, strict=True)]
        best = [Enclosure(b, s) for b, s in zip(found, settled, strict=True)]
        if precision >= limit or all(s.all() for s in settled):
            return best
        precision = min(2 * precision, limit)
