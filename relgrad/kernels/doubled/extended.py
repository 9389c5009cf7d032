"""Doubled arithmetic in extended range: numbers m·2^e whose mantissas are sums of two floats with their bounds.

    |x − (hi + lo)·2^e| ≤ bound·2^e,   1/2 ≤ |hi| < 1

The rules of extended range hold of such mantissas, and formulas of doubled arithmetic of such numbers. What has neither
sees doubled numbers, of which nothing is known where they are out of range.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relgrad.kernels.containers import mapped
from relgrad.kernels.doubled import elementary
from relgrad.kernels.doubled.entries import least
from relgrad.kernels.doubled.entries import pick as pick_doubled
from relgrad.kernels.doubled.named import FORMULAS, computed, given, rounded
from relgrad.kernels.doubled.number import ERROR, Doubled, with_error
from relgrad.kernels.extended.entries import aligned, pick, subtract
from relgrad.kernels.extended.functions import elementwise
from relgrad.kernels.extended.number import FARTHEST, NOTHING, Extended
from relgrad.kernels.numbers import rules_in, share_rules

_SURE = 400
"""Hardly anything is lost of doubled numbers as sums of floats if exponents are no larger than this."""
_TINY = 30
"""A distance is tiny by so many powers of two: (d/y)² is below rounding."""
_KNOWN = 2.0**-48
"""Numbers are known to so much of themselves."""
_EXACT = 1 << 20
"""Multiples of log 2 by whole numbers up to this are exact."""


class ExtendedDoubled(Extended):
    """An array m·2^e of doubled mantissas."""

    __slots__ = ()
    ufuncs, functions, named = {}, {}, {}
    zero = 0.0, 0.0, 0.0, NOTHING

    def __init__(self, m: Any, e: Any):
        m = Doubled.of(m)
        shift = np.frexp(m.hi)[1].astype(np.int64)
        exponent = np.asarray(e, np.int64) + shift
        beyond = (np.abs(exponent) > FARTHEST) & (m.hi != 0)
        if np.any(beyond):  # nothing is known of such numbers
            m = pick_doubled(beyond, Doubled(np.nan), m)
        self.m = np.ldexp(m, -shift)
        nothing = np.where(m.zeros(), NOTHING, np.maximum(exponent, NOTHING))
        self.e = np.where(m.hi == 0, nothing, np.where(np.isfinite(m.hi), exponent, 0))

    @classmethod
    def of(cls, x: Any, dtype: Any = None) -> ExtendedDoubled:
        """Return an array, or a number, exactly."""
        return x if isinstance(x, ExtendedDoubled) else cls(Doubled.of(x), 0)

    @classmethod
    def made(cls, parts: Sequence[Any]) -> ExtendedDoubled:
        *m, e = parts
        return cls(Doubled(*m), e)

    @classmethod
    def operands(cls, inputs: Sequence[Any]) -> Sequence[Any]:
        return list(map(cls.of, inputs))

    @classmethod
    def lifted(cls, x: Any, args: Sequence[Any]) -> Any:
        """Return doubled numbers, and floats of which nothing is known, as such numbers."""
        if isinstance(x, tuple):
            return tuple([cls.lifted(y, args) for y in x])
        return cls.of(x) if isinstance(x, Doubled) else cls.lifted(Doubled.lifted(x, args), args)

    @classmethod
    def applied(cls, function: Any, args: Any, kwargs: Any) -> Any:
        """Return what a function makes of arguments with such numbers among them: by its rule, or of its mantissas."""
        return super(Extended, cls).applied(function, args, kwargs)

    @property
    def parts(self) -> tuple[Any, ...]:
        return *self.m.parts, self.e

    @property
    def plain(self) -> Any:
        return np.ldexp(self.m, np.clip(self.e, -5000, 5000))

    @property
    def exact(self) -> bool:
        """Whether mantissas are floats."""
        return self.m.exact

    @property
    def bound(self) -> Any:
        return self.plain.bound

    @property
    def outside(self) -> Any:
        return (np.abs(self.e) > _SURE) & (self.m.hi != 0) & np.isfinite(self.m.hi)

    def floats(self) -> Any:
        return self.plain.floats()

    def nearly(self) -> ExtendedDoubled:
        return type(self)(with_error(self.m.pair, self.m.bound), self.e)

    def signs(self) -> Any:
        return self.m.signs()

    def zeros(self) -> Any:
        return self.m.zeros()

    def astype(self, dtype: Any, **_: Any) -> Any:
        """Return the same numbers in a dtype that holds them."""
        return self if np.dtype(dtype) == np.float64 else self.plain.astype(dtype)

    @classmethod
    def _in_floats(cls, function: Any, args: Any, kwargs: Any) -> Any:
        args, kwargs = mapped(plain, args), mapped(plain, kwargs)
        is_ufunc = isinstance(function, type(np.add.__call__))  # which dispatches by itself
        found = function(*args, **kwargs) if is_ufunc else Doubled.applied(function, args, kwargs)
        return cls.lifted(found, (*args, *kwargs.values()))


def plain(x: Any) -> Any:
    """Return doubled numbers for those of extended range."""
    return x.plain if isinstance(x, ExtendedDoubled) else x


UFUNCS, FUNCTIONS, NAMED = ExtendedDoubled.ufuncs, ExtendedDoubled.functions, ExtendedDoubled.named
_OF_FLOATS = (np.trunc, np.floor, np.ceil, np.rint)
UFUNCS.update({f: rule for f, rule in Extended.ufuncs.items() if f not in _OF_FLOATS})
UFUNCS.update(FORMULAS)
_OF_ANY = (np.power, np.float_power, np.logaddexp, np.exp2, np.log2, np.log10)
UFUNCS.update({f: Doubled.ufuncs[f] for f in _OF_ANY})
_rule = rules_in(UFUNCS)


@_rule(np.exp)
def exp(x: ExtendedDoubled) -> ExtendedDoubled:
    """Return e^x = m·2^k, of which far below only a bound is known, and far above nothing."""
    v = x.plain
    pair, k = elementary.exp_in_parts(v.pair)
    known = with_error(pair, np.abs(pair[0]) * np.expm1(v.bound + np.abs(v.hi) * ERROR), elementary.ERROR)
    low = v.hi < 0
    beyond = Doubled(np.where(low, 0.0, np.inf), np.zeros(v.shape), np.where(low, 2.0, np.inf))
    return ExtendedDoubled(np.where(np.abs(v.hi) > elementary.MOST, beyond, known), k)


@_rule(np.log)
def log(x: ExtendedDoubled) -> ExtendedDoubled:
    """Return log(m·2^e) = log m + e·log 2."""
    e = np.where(x.zeros(), 0, x.e)
    bound = np.where(np.abs(e) <= _EXACT, x.m.bound / least(x.m), np.inf)
    return ExtendedDoubled(with_error(elementary.log(x.m.pair, e), bound, elementary.ERROR), 0)


def _extreme(function: Any, sign: int) -> Any:
    def rule(x: ExtendedDoubled, y: ExtendedDoubled) -> ExtendedDoubled:
        (a, b), most = aligned(x, y)
        gap = subtract(x, y).m
        decided = np.abs(gap.hi) > 2.0 * gap.bound
        return pick(decided, pick(sign * gap.hi > 0, x, y), ExtendedDoubled(function(a, b), most))

    return rule


UFUNCS.update({f: _extreme(f, 1) for f in (np.maximum, np.fmax)})
UFUNCS.update({f: _extreme(f, -1) for f in (np.minimum, np.fmin)})
FUNCTIONS[np.sum] = Extended.functions[np.sum]
FUNCTIONS.update(
    {f: lambda x, f=f: ExtendedDoubled.of(Doubled.functions[f](x)) for f in (given, computed, rounded)}
)
FUNCTIONS[np.where] = lambda c, x, y: pick(c, ExtendedDoubled.of(x), ExtendedDoubled.of(y))
FUNCTIONS[np.sinc] = Doubled.functions[np.sinc]
FUNCTIONS.update(
    {f: lambda x, *_, f=f, **__: ExtendedDoubled.of(f(x.e) * 1.0) for f in (np.zeros_like, np.ones_like)}
)
share_rules(ExtendedDoubled)


def _by_formula(formula: Callable[..., Any], exact: bool = False) -> Callable[[Any], Any]:
    """Return the rule of a function in extended range: of floats, or a formula in doubled numbers where it is known.

    Nothing is left where the last operand, a distance, is 0; if parts are `exact`, wherever none of them is left.
    """

    def otherwise(*args: Extended) -> Extended:
        found = formula(*[ExtendedDoubled(x.m, x.e) for x in args])
        nothing = (found.m.hi == 0) & (exact | args[-1].zeros())
        known = nothing | (found.m.bound <= _KNOWN * np.abs(found.m.hi))
        return Extended(np.where(known, found.m.hi, np.nan), found.e)

    return lambda function: elementwise(function, otherwise)


def _change(f: Callable[[Any], Any], slope: Callable[[Any], Any], x: Any, y: Any, d: Any) -> Any:
    """Return f(x) − f(y), d·f′(y + d/2) for a tiny distance d; x is y + d where it is near y, and may be rounded."""
    first = pick(d.e < y.e, y + d, x)
    return pick(d.e < y.e - _TINY, d * slope(y + 0.5 * d), f(first) - f(y))


def _increment(function: Any) -> Any:
    """Return the rule of f(x) − f(y), over x − y or not, where f is that of an op."""
    op = function.__self__

    def formula(x: Any, y: Any, *rest: Any) -> Any:
        *others, d = rest

        def f(z: Any) -> Any:
            return op.of.function(*op.operands(z, others))

        change = _change(f, lambda z: op.of.rules[op.position](1.0, f(z), *op.operands(z, others)), x, y, d)
        return change / d if op.over_distance else change

    return _by_formula(formula)(function)


def _power(x: Any, y: Any, a: Any, d: Any) -> Any:
    return _change(lambda z: np.power(z, a), lambda z: a * np.power(z, a - 1.0), x, y, d)


Extended.named.update(
    increment_in_floats=_increment,
    power_difference=_by_formula(_power),
    product_difference=_by_formula(lambda a, b, c, d: a * b - c * d, exact=True),
)
NAMED.update({name: make for name, make in Doubled.named.items() if name not in (*NAMED, "cofactor")})
Doubled.wider = ExtendedDoubled
