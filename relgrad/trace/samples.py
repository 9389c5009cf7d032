"""What stands in for Python's `statistics` where numbers of a sample are traced.

    statistics.stdev(v for v in x)   ↦   np.std(x, ddof=1)        statistics.median(x)   ↦   np.median(x)

Python adds exact fractions and rounds once; NumPy's sums are as accurate where nothing cancels.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np

from relgrad.op import Symbolic
from relgrad.ops.creation import holds_symbolic
from relgrad.trace.numbers import Number, number
from relgrad.trace.patches import StandIn
from relgrad.trace.refusal import refuse_because
from relgrad.trace.tracer import gathered


def _sample(data: Any) -> Any:
    """[x, y] → the traced array of them; raises TraceError for numbers of other classes, which have results of
    theirs.
    """
    if not holds_symbolic(data):
        return np.asarray(data, float)
    x: Any = gathered(data)
    if x.dtype != np.float64:
        refuse_because(
            f"a function of `statistics` cannot be traced for numbers of the dtype {x.dtype}",
            cause="its class depends on values: the mean of 1 and 3 is an integer, that of 1 and 2 a float",
            cure="write x.astype(float), or call np.mean, np.median, np.var, np.std",
        )
    return x


def _mean(x: Any, weights: Any = None) -> Any:
    return np.mean(x) if weights is None else np.sum(x * weights) / np.sum(weights)


def _harmonic_mean(x: Any, weights: Any = None) -> Any:
    return 1 / _mean(1 / x, weights)


def _spread(root: bool, ddof: int) -> Callable[..., Any]:
    """stdev(x) = √(Σ(x − mean)²/(n − 1)): the function that stands in for `statistics.stdev` and its likes."""

    def of(x: Any, center: Any = None) -> Any:
        if center is None:
            return np.std(x, ddof=ddof) if root else np.var(x, ddof=ddof)
        found = np.sum(np.square(x - center)) / (len(x) - ddof)
        return np.sqrt(found) if root else found

    return of


def _covariance(x: Any, y: Any) -> Any:
    return np.sum((x - np.mean(x)) * (y - np.mean(y))) / (len(x) - 1)


def _correlation(x: Any, y: Any) -> Any:
    dx, dy = x - np.mean(x), y - np.mean(y)
    return np.sum(dx * dy) / (np.linalg.norm(dx) * np.linalg.norm(dy))


TRACED: dict[str, Callable[..., Any]] = {
    "mean": _mean,
    "fmean": _mean,
    "geometric_mean": lambda x: np.exp(np.mean(np.log(x))),
    "harmonic_mean": _harmonic_mean,
    "median": np.median,
    "median_low": lambda x: np.sort(x)[(len(x) - 1) // 2],
    "median_high": lambda x: np.sort(x)[len(x) // 2],
    "pvariance": _spread(False, 0),
    "variance": _spread(False, 1),
    "pstdev": _spread(True, 0),
    "stdev": _spread(True, 1),
    "covariance": _covariance,
    "correlation": _correlation,
}
"""Functions of `statistics` on traced arrays, which are not empty."""

OF_SAMPLE = frozenset(
    ["mean", "harmonic_mean", "median", "median_low", "median_high", "pvariance", "variance"]
)
"""Functions whose results are of the class of the sample, float64 of an array; those of all others are floats."""


def stand_in(name: str) -> StandIn:
    """statistics.mean([x, y]) → (x + y)/2: the stand-in of a function; its exceptions for too small samples stay."""
    original, traced = getattr(statistics, name), TRACED[name]

    def call(*args: Any, **kwargs: Any) -> Any:
        """no tracer → original(…), else the traced function of the sample, as a number."""
        given, others = [_listed(x) for x in args], {k: _listed(v) for k, v in kwargs.items()}
        if not any(map(holds_symbolic, (*given, *others.values()))):
            return original(*given, **others)
        if not _is_sample(given[0]):
            original(0.0)  # raises TypeError, as for every number
        _check(original, [len(x) for x in given if _is_sample(x)])
        found = traced(*[_sample(x) if _is_sample(x) else x for x in given], **others)
        return found if name in OF_SAMPLE and not _is_of_python(given[0]) else number(found)

    return StandIn(original, call)


def _listed(x: Any) -> Any:
    """Return what an iterator yields as a list."""
    return list(x) if np.iterable(x) and not isinstance(x, Symbolic) else x


def _is_sample(x: Any) -> bool:
    return isinstance(x, list) or np.ndim(x) > 0


def _is_of_python(sample: Any) -> bool:
    """Whether a sample is made of Python's numbers."""
    return isinstance(sample, list) and all(isinstance(x, Number) or type(x) in (int, float) for x in sample)


def _check(original: Any, sizes: list[int]) -> None:
    """Raise what a function raises for samples of these sizes."""
    if any(n < 2 for n in sizes) or len(set(sizes)) > 1:
        original(*[np.arange(1.0, n + 1).tolist() for n in sizes])
