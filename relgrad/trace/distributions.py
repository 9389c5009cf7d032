"""Distributions of `scipy.stats`, whose functions are traced by the formulas that SciPy has for them.

    stats.norm.logpdf(x, m, s)   ↦   where(s > 0, _logpdf((x − m)/s) − log s, nan),    _logpdf(z) = −z²/2 − log √(2π)

SciPy picks the entries that are inside of the support and puts their values into an array. Here the formula is that of
all entries, and `where` has the values on both sides of the support, and NaN where parameters are out of bounds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from types import MethodType
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from relgrad.bounds import range_of
from relgrad.op import as_term
from relgrad.ops.creation import holds_symbolic
from relgrad.term import subterms
from relgrad.trace.library import Library, implementation
from relgrad.trace.matrices import arrayed
from relgrad.trace.patches import StandIn
from relgrad.trace.refusal import refuse_because, tentative


class _Function(NamedTuple):
    """cdf: 0 below the support, 1 above, and _cdf(z), or 1 − _sf(z), or exp(_logcdf(z)), inside."""

    below: float
    above: float
    formulas: dict[str, Callable[[Any], Any]]
    is_density: bool = False


def _itself(y: Any) -> Any:
    return y


_CUMULATED = {
    "cdf": _Function(0.0, 1.0, {"_cdf": _itself, "_sf": lambda y: 1 - y, "_logcdf": np.exp}),
    "sf": _Function(1.0, 0.0, {"_sf": _itself, "_cdf": lambda y: 1 - y, "_logsf": np.exp}),
    "logcdf": _Function(-np.inf, 0.0, {"_logcdf": _itself, "_cdf": np.log, "_sf": lambda y: np.log1p(-y)}),
    "logsf": _Function(0.0, -np.inf, {"_logsf": _itself, "_sf": np.log, "_cdf": lambda y: np.log1p(-y)}),
}


def _densities(name: str) -> dict[str, _Function]:
    return {
        name: _Function(0.0, 0.0, {f"_{name}": _itself, f"_log{name}": np.exp}, is_density=True),
        f"log{name}": _Function(
            -np.inf, -np.inf, {f"_log{name}": _itself, f"_{name}": np.log}, is_density=True
        ),
    }


CONTINUOUS = {**_densities("pdf"), **_CUMULATED}
# Between whole numbers, SciPy's formulas of both sides do not add up to 1.
_STEPS = {name: of._replace(formulas={f"_{name}": _itself}) for name, of in _CUMULATED.items()}
DISCRETE = {**_densities("pmf"), **_STEPS}
QUANTILES = {"ppf": _itself, "isf": lambda q: 1 - q}
"""Inverse functions, and what they are asked for by the probability to be below."""


def _apply_where(
    cond: Any, args: Any, f1: Any, f2: Any = None, /, *, fill_value: Any = None, **how: Any
) -> Any:
    """where(cond, f1(*args), f2(*args))"""
    args = args if isinstance(args, (tuple, list)) else (args,)
    return np.where(cond, f1(*args), fill_value if f2 is None else f2(*args))


def _lazyselect(condlist: Any, choicelist: Any, arrays: Any, default: Any = 0) -> Any:
    """select(condlist, [f(*arrays), …], default)"""
    return np.select(condlist, [f(*arrays) for f in choicelist], default)


def _log_diff(p: Any, q: Any) -> Any:
    """log(e^p − e^q), of which SciPy's is a sum of complex numbers."""
    return p + np.log(1 - np.exp(q - p))


def _log_gauss_mass(a: Any, b: Any) -> Any:
    """log(Φ(b) − Φ(a)), which SciPy computes in pieces, as complex numbers; here intervals have relations."""
    return np.log(ndtr(b) - ndtr(a))


def choices() -> dict[int, Callable[..., Any]]:
    """{id(apply_where): _apply_where, …}: SciPy's functions that pick entries, as choices among the values of all."""
    places = {
        ("scipy._lib.array_api_extra", "apply_where"): _apply_where,
        ("scipy._lib._util", "_lazyselect"): _lazyselect,
        ("scipy.stats._continuous_distns", "_log_diff"): _log_diff,
        ("scipy.stats._continuous_distns", "_log_gauss_mass"): _log_gauss_mass,
    }
    return {id(getattr(sys.modules.get(place), name, name)): new for (place, name), new in places.items()}


class Distribution(StandIn):
    """norm.logpdf(x, m) → its formula, norm(m, s) → the same with m and s: traced where an argument is."""

    def __init__(self, original: Any, library: Callable[[], Library], args: Any = (), kwargs: Any = None):
        super().__init__(original, self._frozen)
        self._library, self._args, self._kwargs = library, args, kwargs or {}

    def _frozen(self, *args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        made = Distribution(self.original, self._library, args, kwargs)
        return made if any(map(holds_symbolic, given)) else self.original(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name not in QUANTILES and name not in (CONTINUOUS if _is_continuous(self.original) else DISCRETE):
            frozen = self._args or self._kwargs
            return getattr(self.original(*self._args, **self._kwargs) if frozen else self.original, name)
        return StandIn(partial(self._plain, name), partial(self._traced, name))

    def _plain(self, name: str, x: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.original, name)(x, *args, *self._args, **kwargs, **self._kwargs)

    def _traced(self, name: str, x: Any, *args: Any, **kwargs: Any) -> Any:
        """(logpdf, x, m, s) → the formula at x where one of them is traced; else SciPy's value."""
        given = (*args, *self._args), {**kwargs, **self._kwargs}
        if not any(map(holds_symbolic, (x, *given[0], *given[1].values()))):
            return self._plain(name, x, *args, **kwargs)
        shapes, loc, scale = self.original._parse_args(*given[0], **given[1])
        x, loc, scale, *shapes = map(arrayed, (x, loc, scale, *shapes))
        formulas = _formulas(self.original, self._library())
        low, high = formulas._get_support(*shapes)
        if name in QUANTILES:
            value = _quantile(formulas, name, x, shapes, low, high) * scale + loc
        elif _is_continuous(self.original):
            value = _inside(formulas, name, (x - loc) / scale, shapes, low, high, CONTINUOUS[name])
        else:
            value = _inside(formulas, name, x - loc, shapes, low, high, DISCRETE[name])
        if name == "pdf":
            value = value / scale
        elif name == "logpdf":
            value = value - np.log(scale)
        return _chosen(formulas._argcheck(*shapes), _chosen(_is_positive(scale), value, np.nan), np.nan)


def _is_positive(x: Any) -> Any:
    """s → s > 0, eˢ → True: whether a number is above 0, unless its range says so."""
    return True if holds_symbolic(x) and range_of(as_term(x)).positive else x > 0


class Multivariate(StandIn):
    """multivariate_normal.logpdf(x, m, c) → traced by SciPy's own code, or by a formula where that is compiled."""

    def __init__(self, original: Any, library: Callable[[], Library]):
        super().__init__(original, original)
        self._library = library

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.original, name)
        return StandIn(method, partial(self._traced, name)) if type(method) is MethodType else method

    def _traced(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """(logpdf, x, m, c) → SciPy's code at x where one of them is traced; else SciPy's value."""
        if not any(map(holds_symbolic, (*args, *kwargs.values()))):
            return getattr(self.original, name)(*args, **kwargs)
        like = _formulas(self.original, self._library())
        like.name = type(self.original).__name__.removesuffix("_gen")
        if like.name == "multivariate_normal" and name in _NORMAL:
            return _NORMAL[name](_log_normal(*args, **kwargs))
        return _formula(like, {name: _itself}, args[0], args[1:], kwargs)


_NORMAL = {"logpdf": _itself, "pdf": np.exp}


def _log_normal(x: Any, mean: Any = None, cov: Any = 1, **options: Any) -> Any:
    """−½·(n·log 2π + log det c + (x − m)ᵀ·c⁻¹·(x − m)), by Cholesky's triangle of c: the log of a normal density."""
    x, cov, mean = arrayed(x), arrayed(cov), None if mean is None else np.ravel(arrayed(mean))
    n = np.shape(cov)[0] if np.ndim(cov) else 1 if mean is None else len(mean)
    x = x[..., None] if n == 1 and x.shape[-1:] != (1,) else x
    triangle = np.linalg.cholesky(cov if np.ndim(cov) == 2 else np.diag(cov * np.ones(n)))
    off = np.linalg.solve(triangle, (x if mean is None else x - mean)[..., None])[..., 0]
    logs = np.sum(np.log(np.diagonal(triangle)))
    return -(n * np.log(2 * np.pi) + np.sum(off**2, axis=-1)) / 2 - logs


def _is_continuous(distribution: Any) -> bool:
    return hasattr(distribution, "pdf")


def _inside(formulas: Any, name: str, z: Any, shapes: Any, low: Any, high: Any, of: _Function) -> Any:
    """(_logpdf, z, 0, ∞) → where(z < 0, −∞, _logpdf(z)): a function on both sides of a support, and inside of it.

    A density may have a formula at the ends, too; one of whole numbers is 0 beside them.
    """
    value, is_continuous = _formula(formulas, of.formulas, z, shapes), _is_continuous(formulas)
    if holds_symbolic(z) and not _keeps_nan(value, z):
        value = np.where(np.isnan(z), z, value)
    if of.is_density and not is_continuous:
        value = _chosen(z > np.floor(z), of.below, value)
    is_closed = of.is_density and formulas._support_mask.__name__ != "_open_support_mask"
    if _is_bounded(low):
        before = np.less if is_closed or not is_continuous else np.less_equal
        value = _chosen(before(z, low), of.below, value)
    if _is_bounded(high):
        value = _chosen((np.greater if is_closed else np.greater_equal)(z, high), of.above, value)
    return value


def _keeps_nan(value: Any, z: Any) -> bool:
    """log z → True, (z == z)/2 → False: whether a formula has z for an operand, and nothing is decided in it."""
    whole = list(subterms(as_term(value)))
    return as_term(z) in whole and all(t.type.differentiable or not t.rands for t in whole)


def _is_bounded(end: Any) -> bool:
    return holds_symbolic(end) or not np.all(np.isinf(end))


def _quantile(formulas: Any, name: str, q: Any, shapes: Any, low: Any, high: Any) -> Any:
    """(_ppf, q, −∞, ∞) → _ppf(q), its ends at 0 and 1, and NaN beyond."""
    names = {f"_{name}": _itself}
    value, below = _formula(formulas, names, q, shapes), QUANTILES[name](q)
    value = _chosen(below <= 0, low, _chosen(below >= 1, high, value))
    return _chosen(np.logical_and(q >= 0, q <= 1), value, np.nan)


def _chosen(condition: Any, x: Any, y: Any) -> Any:
    """True, x, y → x: what is known is no choice."""
    return x if not holds_symbolic(condition) and np.all(condition) else np.where(condition, x, y)


def _formula(
    formulas: Any, names: dict[str, Callable[[Any], Any]], z: Any, shapes: Any, options: Any = None
) -> Any:
    """{_sf: y ↦ 1 − y, …} → 1 − _sf(z): the first of some formulas that can be traced."""
    why = ""
    for name, change in names.items():
        try:
            with tentative():
                return change(getattr(formulas, name)(z, *shapes, **(options or {})))
        except Exception as e:  # SciPy's code fails in its own ways where arrays are traced
            why = why or str(e).partition("\n")[0]
    return refuse_because(
        f"scipy.stats.{formulas.name}.{next(iter(names)).removeprefix('_')} cannot be traced",
        cause=f"SciPy computes it by other means than NumPy's functions and known ufuncs: {why}",
        cure="write its formula with NumPy and scipy.special",
    )


def _formulas(distribution: Any, library: Library) -> Any:
    """norm → a distribution like it whose methods are copies of SciPy's that trace."""

    def found(self: Any, name: str) -> Any:
        """_logpdf → the copy of the method, or what else has the name."""
        value = super(type(self), self).__getattribute__(name)
        if (
            type(value) is not MethodType
            or value.__self__ is not self
            or implementation(value.__func__) is None
        ):
            return value
        return MethodType(library.copied(value.__func__), self)

    kind = type(distribution)
    like = object.__new__(type(kind.__name__, (kind,), {"__getattribute__": found}))
    like.__dict__.update(vars(distribution))
    return like
