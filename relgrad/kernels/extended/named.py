"""Kernels, and functions of linear algebra, in extended range, known by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relgrad.kernels import formulas
from relgrad.kernels.extended.arrays import prod, ranks
from relgrad.kernels.extended.entries import (
    log,
    scaled,
)
from relgrad.kernels.extended.functions import in_floats_first, or_extended
from relgrad.kernels.extended.number import NAMED, NOTHING, Extended, combined
from relgrad.kernels.index import add_at, key_along
from relgrad.kernels.linalg import cofactor
from relgrad.kernels.numbers import alike, lowered, near_by_rules, stretched


def _largest(x: Any, axis: Any = None) -> Any:
    """max e along axes, which stay; 0 where there are only zeros."""
    most = np.max(x.e, axis=axis, keepdims=True, initial=NOTHING)
    return np.where(most > NOTHING, most, 0)


def _homogeneous(*degrees: int, last: int | None = None, within: tuple[int, ...] = (), root: int = 1) -> Any:
    """f(2ᵏ·x, 2ˡ·y) = 2^((a·k + b·l)/root)·f(x, y): the rule of a function of degrees a, b, by slices.

    A slice is along the axis that the function is told, or one of so many last axes. Its entries that are smaller than
    the largest by more than the range of floats are zeros. Where the result is a tuple, the shift of each part is that
    many times as large as `within` says.
    """

    def make(function: Any) -> Any:
        """f → the rule f(x) = 2^(Σ dᵢ·kᵢ)·f(x₁/2^k₁, …), with kᵢ the largest exponent of each operand."""

        def rule(*args: Any, **kwargs: Any) -> Any:
            """f(x/2ᵏ, y/2ˡ)·2^(a·k + b·l), with k and l the largest exponents that have roots."""
            arrays = [Extended.of(x) for x in args[: len(degrees)]]
            axis = kwargs.get("axis") if last is None else tuple(range(-last, 0))
            exponents = [_largest(x, axis) // root * root for x in arrays]
            parts = [scaled(x, k) for x, k in zip(arrays, exponents, strict=True)]
            result = function(*parts, *map(lowered, args[len(degrees) :]), **kwargs)
            shift = combined(exponents, degrees) // root
            if isinstance(result, tuple):
                return tuple(shifted(x, times * shift) for x, times in zip(result, within, strict=True))
            return shifted(result, shift, axis)

        def shifted(result: Any, shift: Any, axis: Any = None) -> Extended:
            """x·2ᵏ, where one k is for each slice."""
            if last is not None:
                stack = shift.shape[:-last]
                shift = shift.reshape((*stack, *[1] * (np.ndim(result) - len(stack))))
            elif shift.ndim != np.ndim(result):
                shift = np.squeeze(shift, axis)
            return Extended(result, shift)

        return rule

    return make


def _add_at(values: Any, key: Any, shape: tuple[int, ...]) -> Extended:
    """Σ mᵢ·2^eᵢ = (Σ mᵢ·2^(eᵢ − k))·2ᵏ at each place, k = max eᵢ there: none is lost beside what goes elsewhere."""
    values, most = Extended.of(values), np.full(shape, NOTHING)
    np.maximum.at(most, key, values.e)
    return Extended(add_at(scaled(values, most[key]), key, shape), most)


def _by_rank(function: Any) -> Any:
    """argmax(x) = argmax(ranks of x): the rule of a function that asks only for the order of entries along an axis."""
    return lambda x, axis: function(ranks(x, axis), axis)


NAMED.update(
    {
        "norm2": _homogeneous(1),
        "norm_p": _homogeneous(1),
        "unit": _homogeneous(0),
        "unit_p": _homogeneous(0),
        "unit_pullback": _homogeneous(-1, 1),
        "centred": _homogeneous(1),
        "inv": _homogeneous(-1, last=2),
        "solve": _homogeneous(-1, 1, last=2),
        "pinv": _homogeneous(-1, last=2),
        "cholesky": _homogeneous(1, last=2, root=2),
        "eigvalsh": _homogeneous(1, last=2),
        "eigh": _homogeneous(1, last=2, within=(1, 0)),
        "svd": _homogeneous(1, last=2, within=(0, 1, 0)),
        "qr": _homogeneous(1, last=2, within=(0, 1)),
        "add_at": or_extended(_add_at),
        "add_along": or_extended(
            lambda x, indices, axis, shape: _add_at(x, key_along(indices, axis, shape), shape)
        ),
        "cauchy": _homogeneous(-1, last=1),
        "leave_one_out_prod": lambda _: lambda *xs, **axes: formulas.leave_one_out_prod(*alike(*xs), **axes),
        "near": lambda _: near_by_rules(Extended),
        "xdivy": lambda _: lambda x, y: formulas.xdivy(*alike(x, y)),
        "log_quotient": lambda _: lambda x, y, d: formulas.log_quotient(*alike(x, y, d)),
        "running_argmax": _by_rank,
        "running_argmin": _by_rank,
    }
)


def _named(name: str) -> Callable[[Any], Any]:
    def register(rule: Any) -> Any:
        NAMED[name] = lambda function: rule
        return rule

    return register


def _deviation(g: Any, p: Any, axis: Any = -1) -> Any:
    """g − Σpg/Σp, with g measured from where p is largest: shares far below the range of floats count."""
    g, p = stretched(Extended.of(g), Extended.of(p))
    heaviest = np.abs(p) >= np.max(np.abs(p), axis=axis, keepdims=True)
    count = np.sum(heaviest, axis=axis, dtype=g.dtype, keepdims=True)
    g = g - np.sum(np.where(heaviest, g, 0.0), axis=axis, keepdims=True) / count
    return g - np.sum(p * g, axis=axis, keepdims=True) / np.sum(p, axis=axis, keepdims=True)


NAMED["deviation"] = or_extended(_deviation)
NAMED["softmax_pullback"] = or_extended(lambda g, p, axis=-1: Extended.of(p) * _deviation(g, p, axis))


@_named("einsum")
def _einsum(subscripts: str, *operands: Any, **kwargs: Any) -> Extended:
    """Σ_j a_ij·b_jk, where floats are no help; of what has no formula, einsum(2ᵏ·a, 2ˡ·b) = 2^(k + l)·einsum(a, b)."""
    plain = lambda *arrays: np.einsum(subscripts, *arrays, **kwargs)

    def wide(*numbers: Any) -> Extended:
        """Return the sum of products in extended range."""
        found = formulas.einsum(subscripts, *numbers)
        return _homogeneous(*[1] * len(numbers))(plain)(*numbers) if found is None else found

    return in_floats_first(plain, wide, operands)


def _by_rows(x: Extended) -> tuple[Any, list[Any]]:
    """x → diag(2^−kᵢ)·x and kᵢ, the largest exponent of each row."""
    rows = _largest(x, -1)
    return scaled(x, rows), list(np.moveaxis(rows[..., 0], -1, 0))


@_named("det")
def _det(x: Extended) -> Extended:
    """det(diag(2^kᵢ)·x) = 2^(Σ kᵢ)·det x"""
    rows, exponents = _by_rows(x)
    return Extended(np.linalg.det(rows), combined(exponents, [1] * len(exponents)))


@_named("slogdet")
def _slogdet(x: Extended) -> tuple[Any, Extended]:
    """log|det(diag(2^kᵢ)·x)| = log|det x| + log 2·Σ kᵢ"""
    rows, exponents = _by_rows(x)
    sign, size = np.linalg.slogdet(rows)
    return sign, Extended.of((size + np.log(2.0) * sum(exponents)).astype(x.dtype))


@_named("cofactor")
def _cofactor(x: Any) -> Extended:
    """cof(2ᵏ·x) = 2^(k·(n − 1))·cof(x)"""
    k = _largest(x, (-2, -1))
    return Extended(cofactor(scaled(x, k)), combined([k], [x.shape[-1] - 1]))


@_named("log_prod")
def _log_prod(x: Any, axis: Any = None, keepdims: bool = False) -> Extended:
    return log(prod(x, axis, keepdims=keepdims))
