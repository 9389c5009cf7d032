"""Where digits may still cancel in a program, and the tests that tell whether they do.

A sum of computed parts that may have opposite signs loses digits where its result is far below them:

    b·b − 4·a·c        cancels(t2, t1)
    Σ x                sum_cancels(sum_x, x)
    a·b, of matrices   product_cancels(matmul_a, a, b)
    log u              cancels(log_u, 1.0), for a computed u, and other functions with such zeros
    u ** n             cancels(1.0, n), for a computed u: a large power multiplies its error
    u − mean u         cancels(centred_u, u), for a computed u

A difference of two floats that are given is right to the last digit. An operand of exp, or of a softmax, need not be
right to more digits than it has after the point. What is summed with an argument as a factor, Σ x·f, is as sensitive to
the argument as it is to rounding; so is a product of matrices with a computed one. Of what reaches results through
sums over axes alone, the largest entries along them count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from relgrad import kernels
from relgrad.bounds import range_of
from relgrad.leaf import Input
from relgrad.op import Constant, Op, constant, is_constant
from relgrad.ops.arithmetic import (
    absolute,
    add,
    fabs,
    float_power,
    multiply,
    negative,
    positive,
    power,
    subtract,
)
from relgrad.ops.casting import Cast
from relgrad.ops.matmul import MatMul
from relgrad.ops.reduction import Reduction, Sum
from relgrad.ops.selection import maximum, minimum, where
from relgrad.term import Term, reachable, subterms, term
from relgrad.types import ArrayType, Type, array_type

MANY = 8
"""A sum of more parts is taken for a sum of sums."""
LARGE = 64.0
"""Powers up to this are as accurate as their bases."""
_CENTRED = frozenset(["centred", "mean_minus"])
"""Differences from a mean."""
_ABSORBING = (
    frozenset(["exp", "exp2", "cosh", "cos", "expit", "softplus", "log1pexp", "gibbs", "ndtr", "log_cosh"])
    | frozenset(["softmax", "log_softmax", "logsumexp", "logmeanexp", "log_expit", "log_ndtr"])
    | frozenset(["sign", "floor", "ceil", "rint"])
)
"""Ops to which an operand's digits after the point are enough."""
_WITH_ZEROS = (
    frozenset(["log", "log2", "log10", "logit", "entr", "gammaln", "digamma", "arccosh"])
    | frozenset(["xlogy", "rel_entr", "xlog_ratio"])
)  # fmt: skip
"""Functions with zeros where rounding is of the size of 1, or of their first operand."""
_MOVING = (negative, positive, absolute, fabs, maximum, minimum, where)
_SUMS = (add, subtract)


class Test(Op):
    """Whether the first operand is far below the others, as a kernel tells it, along axes if there are any."""

    __props__ = ("kernel", "axes")
    numpy_scalar = True
    function = np.subtract
    """Numbers among the operands are written as they are for this."""

    def __init__(self, kernel: str, axes: tuple[int, ...] = ()):
        self.kernel, self.axes, self.imports = kernel, axes, (kernel,)

    @property
    def name(self) -> str:
        return self.kernel

    def output_type(self, *types: object) -> Type:
        return array_type(bool)

    def compute(self, *arrays: Any) -> Any:
        axis = {"axis": self.axes} if self.axes else {}
        return np.bool_(getattr(kernels, self.kernel)(*arrays, **axis))

    def source(self, node: Term, names: Sequence[str]) -> str | None:
        axis = self.axes[0] if len(self.axes) == 1 else self.axes
        return f"{self.kernel}({', '.join(names)}{f', axis={axis}' if self.axes else ''})"


def guards(roots: Sequence[Term]) -> list[Term]:
    """Return the tests, in the order in which their operands are computed; none for a program that cannot cancel."""
    return list(dict.fromkeys(_Guards(roots).found))


class _Guards:
    """The terms below some roots: which are exact, and which matter to the last digit."""

    def __init__(self, roots: Sequence[Term]):
        order = list(subterms(*roots))
        self._exact: dict[Term, bool] = {}
        for t in order:
            self._exact[t] = isinstance(t.type, ArrayType) and self._is_exact(t)
        self._needed, self._matters = set(roots), set(roots)
        """What is not absorbed, and what of it is not only a part of sums."""
        self._along: dict[Term, frozenset[int]] = dict.fromkeys(roots, frozenset[int]())
        """Along which axes the largest entries count."""
        for t in reversed(order):
            self._pass(t)
        floats = [t for t in order if isinstance(t.type, ArrayType) and t.type.dtype.kind == "f"]
        self.found = [guard for t in floats if t in self._needed for guard in self._guard(t)]

    def _is_exact(self, t: Term) -> bool:
        op = t.op
        if type(op) in (Input, Constant) or t.type.dtype.kind != "f":
            return True
        given = [self._exact[x] for x in t.rands]
        if op is multiply:
            units = [is_constant(x) and _are_powers_of_two(x.op.value) for x in t.rands]
            return all(given) and any(units)
        if type(op) is Cast:
            return all(given) and t.type.dtype.itemsize >= t.rands[0].type.dtype.itemsize
        return all(given) and (op.laws.selects or op in _MOVING)

    def _pass(self, t: Term) -> None:
        """Tell the operands of a term what is asked of them."""
        op, whole = t.op, isinstance(t.type, ArrayType)
        along = self._along.get(t, frozenset())
        for i, x in enumerate(t.rands):
            if not isinstance(x.type, ArrayType):
                self._needed.add(x)
                continue
            passing = op in _SUMS or op in _MOVING or op.laws.selects or i in op.laws.linear
            floating = not whole or t.type.dtype.kind == "f"
            if floating and op.name not in _ABSORBING and (t in self._needed or not passing):
                self._needed.add(x)
                if op not in _SUMS:
                    self._matters.add(x)
            axes = along if op.elementwise else frozenset(_summed(t, i))
            self._along[x] = axes & self._along.get(x, axes)

    def _guard(self, t: Term) -> Iterator[Term]:
        op = t.op
        if op in _SUMS:
            parts = _parts(t) if t in self._matters else {}
            given = len(parts) == 2 and all(self._exact[x] and abs(k) == 1 for x, k in parts.items())
            if not given and len(parts) > 1 and _is_mixed(*parts.items()):
                # Where a sum is small, the part that is left out is no larger than the others together.
                held = sorted(parts, key=self._cost)[:-1]
                axes = tuple(sorted(a for a in self._along.get(t, ()) if -a <= t.type.ndim))
                yield term(Test("cancels", axes), t, *held)
        elif isinstance(op, Sum) and _is_mixed((t.rands[0], 1), (t.rands[0], 1)):
            if not self._is_weighted(t.rands[0]):
                whole = op.axes == tuple(range(-t.rands[0].type.ndim, 0))
                yield term(Test("sum_cancels", () if whole else op.axes), t, *t.rands)
        elif isinstance(op, MatMul) and all(self._exact[x] for x in t.rands):
            if not range_of(t).nonnegative:
                yield term(Test("product_cancels"), t, *t.rands)
        elif op in (power, float_power) and not self._exact[t.rands[0]] and not _is_small(t.rands[1]):
            yield term(Test("cancels"), constant(1, t.type.dtype), t.rands[1])
        elif op.name in _CENTRED and not self._exact[t.rands[0]]:
            yield term(Test("cancels", (-1,) * (t.type.ndim > 0)), t, t.rands[0])
        elif op.name in _WITH_ZEROS and not all(self._exact[x] for x in t.rands) and _is_mixed((t, 1)):
            unit = t.rands[0] if len(t.rands) == 2 else constant(1, t.type.dtype)
            yield term(Test("cancels"), t, unit)

    def _cost(self, x: Term) -> tuple[bool, int, bool]:
        return not is_constant(x), x.type.ndim, not self._exact[x]

    def _is_weighted(self, x: Term) -> bool:
        """Whether a product has an argument as a factor of its own, and a factor that is computed."""
        factors = _factors(x)
        if all(self._exact[y] for y in factors):
            return False
        inputs = {y: {z for z in reachable(y) if type(z.op) is Input} for y in factors}
        return any(
            self._exact[y] and inputs[y] and not any(inputs[y] & inputs[z] for z in factors if z is not y)
            for y in factors
        )


def _parts(t: Term) -> dict[Term, int]:
    """Return the parts of a sum of sums, and how often each is added."""
    parts = [(t, 1)]
    while len(parts) < MANY:
        i = next((i for i, (x, _) in enumerate(parts) if x.op in (*_SUMS, negative)), None)
        if i is None:
            break
        x, sign = parts[i]
        signs = {add: (sign, sign), subtract: (sign, -sign), negative: (-sign,)}[x.op]
        parts[i : i + 1] = list(zip(x.rands, signs, strict=True))
    counts: dict[Term, int] = {}
    for x, sign in parts:
        counts[x] = counts.get(x, 0) + sign
    return {x: count for x, count in counts.items() if count}


def _factors(t: Term) -> list[Term]:
    found, stack = [], [t]
    while stack:
        x = stack.pop()
        if x.op in (multiply, negative) or isinstance(x.op, Sum) or x.op.laws.selects:
            stack += x.rands
        else:
            found.append(x)
    return list(dict.fromkeys(found))


def _is_mixed(*parts: tuple[Term, int]) -> bool:
    """Whether some parts may be positive and others negative."""
    ranges = [range_of(x) if sign > 0 else -range_of(x) for x, sign in parts]
    return not all(r.nonnegative for r in ranges) and not all(r.high <= 0 for r in ranges)


def _summed(t: Term, i: int) -> tuple[int, ...]:
    """Return the axes of an operand over which an op sums."""
    if isinstance(t.op, Reduction):
        return t.op.axes
    return (t.op.mixes(t, i) or ()) if isinstance(t.op, MatMul) else ()


def _is_small(t: Term) -> bool:
    """Whether a power to this multiplies the errors of its base by little."""
    size = max(abs(range_of(t).low), abs(range_of(t).high))
    return size <= LARGE or (is_constant(t) and bool(np.all(np.abs(t.op.value) <= LARGE)))


def _are_powers_of_two(value: Any) -> bool:
    return bool(np.all(np.abs(np.frexp(np.asarray(value, float))[0]) == 0.5))
