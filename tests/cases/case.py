"""A case: a computation as people write it, inputs at which floats fail it, and what is asked of it."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

VALUE, GRADIENT, PRODUCT = KINDS = ("value", "gradient", "product")
"""What is asked: the value, the gradient of a weighted sum of it, and the product of its Hessian with a vector."""

PATTERN = (1.0, -0.5, 0.25, 1.5, -0.75, 2.0, 0.125, -1.25)


class Case(NamedTuple):
    """`function(xp, *arguments)`, where `xp` is NumPy, or a library with its names.

    The gradient is that of the sum of `weights` times the value with respect to argument number `wrt`. `expected`
    holds what is true by convention or by continuity where the formula has no value. `scale` is the natural size of
    a result that is 0, or below all floats next to it. On a control the naive program is accurate already.
    """

    name: str
    family: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    wrt: int = 0
    kinds: tuple[str, ...] = KINDS
    weights: Any = None
    expected: dict[str, Any] | None = None
    scale: float = 0.0
    control: bool = False
    dtype: str = "float64"

    def value(self, xp: Any, *arguments: Any) -> Any:
        """Return the value as written."""
        return self.function(xp, *arguments)

    def scalar(self, xp: Any, *arguments: Any) -> Any:
        """Return the weighted sum of the value, which is differentiated."""
        weights = cotangent(self)
        value = self.function(xp, *arguments)
        return value if weights is None else xp.sum(weights * value)

    def direction(self) -> Any:
        """Return the vector that the Hessian is multiplied with: no case is constant along it by symmetry."""
        return pattern(self.arguments[self.wrt].shape).astype(self.dtype)

    def key(self) -> str:
        """Return a digest of all that the references depend on."""
        parts = [sources(self.function), repr(self.wrt), repr(self.expected), self.dtype]
        parts += [repr(a.tolist()) for a in (*self.arguments, np.asarray(self.weights, dtype=float))]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def pattern(shape: tuple[int, ...]) -> Any:
    """Return an array of that shape, of numbers of few bits that differ."""
    return np.resize(PATTERN, shape) if shape else np.array(1.0)


def cotangent(case: Case) -> Any:
    """Return the weights of the sum that is differentiated, or None if the value is a number."""
    if case.weights is not None:
        return np.asarray(case.weights, dtype=case.dtype)
    with np.errstate(all="ignore"):
        shape = np.shape(case.function(NUMPY, *case.arguments))
    return pattern(shape).astype(case.dtype) if shape else None


def sources(function: Callable[..., Any]) -> str:
    """Return the code of a function and of those that it calls, without places and names of the file."""
    code, seen, todo = [], {function}, [function]
    while todo:
        this = todo.pop()
        code.append(repr(list(_constants(this.__code__))) + this.__code__.co_code.hex())
        held = inspect.getclosurevars(this)
        for name, value in sorted({**held.globals, **held.nonlocals}.items()):
            if inspect.isfunction(value) and value not in seen:
                seen.add(value)
                todo.append(value)
            elif isinstance(value, np.ndarray | float | int):
                code.append(f"{name}={np.asarray(value).tolist()}")
    return "\n".join(code)


def _constants(code: Any) -> Iterator[Any]:
    for constant in code.co_consts:
        if inspect.iscode(constant):
            yield constant.co_code.hex()
            yield from _constants(constant)
        else:
            yield constant
    yield from code.co_names


def case(name: str, function: Callable[..., Any], *arguments: Any, **details: Any) -> Callable[[str], Case]:
    """Return the case of that name, which still lacks its family."""
    dtype = details.get("dtype", "float64")
    arrays = tuple(np.array(a, dtype=dtype) for a in arguments)
    return lambda family: Case(name, family, function, arrays, **details)


def family(name: str, *cases: Callable[[str], Case]) -> tuple[Case, ...]:
    """Return the cases of a family, under its name."""
    return tuple(make(name) for make in cases)


class _Numpy:
    """NumPy, and the special functions of SciPy."""

    def __getattr__(self, name: str) -> Any:
        if name == "special":
            import scipy.special

            return scipy.special
        return getattr(np, name)


NUMPY = _Numpy()
