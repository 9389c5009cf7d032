"""Evaluating and differentiating a function of arrays, and the laws that its derivatives must satisfy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import relgrad.ops  # noqa: F401
from relgrad.gradient import Gradient, Pullback, Pushforward, Tangents
from relgrad.interpret import interpret
from relgrad.leaf import Input
from relgrad.op import as_term
from relgrad.term import term
from relgrad.trace.tracer import Tracer
from relgrad.types import array_type

Function = Callable[..., Any]


def inputs_like(arrays: Sequence[Any], unknown: bool = False) -> list[Any]:
    """Return tracers of the arrays' types; with `unknown`, no extent but 1 is told."""
    types = [
        array_type(a.dtype, [n if n == 1 or not unknown else None for n in a.shape])
        for a in (np.asarray(a) for a in arrays)
    ]
    return [Tracer(term(Input(f"x{i}", t))) for i, t in enumerate(types)]


def evaluate(f: Function, *arrays: Any, unknown: bool = False) -> list[Any]:
    """Trace f and interpret it; the inferred types are checked against the values."""
    xs = inputs_like(arrays, unknown)
    out = f(*xs)
    roots = [as_term(y) for y in (out if isinstance(out, (tuple, list)) else [out])]
    values = interpret(roots, {x.term: np.asarray(a) for x, a in zip(xs, arrays, strict=True)})
    for root, value in zip(roots, values, strict=True):
        assert root.type.dtype == value.dtype, (root, root.type, value.dtype)
        assert len(root.type.shape) == value.ndim
        assert all(m in (None, n) for m, n in zip(root.type.shape, value.shape, strict=True)), (
            root.type,
            value.shape,
        )
    return values


def vjp(f: Function, count: int) -> Function:
    """Return (x₁ … xₙ, g) ↦ the cotangents of the x, for f with one output."""

    def pullback(*args: Any) -> list[Any]:
        xs, g = args[:count], args[count]
        y = as_term(f(*xs))
        state = Pullback(term(Gradient(1), y, as_term(g), *[as_term(x) for x in xs]))
        while state.pending:
            state.expand()
        return [Tracer(t) for t in state.results()]

    return pullback


def jvp(f: Function, count: int) -> Function:
    """Return (x₁ … xₙ, v₁ … vₙ) ↦ the tangent of f."""

    def push(*args: Any) -> Any:
        xs, vs = [as_term(x) for x in args[:count]], [as_term(v) for v in args[count:]]
        state = Tangents(term(Pushforward(1), as_term(f(*[Tracer(x) for x in xs])), *xs, *vs))
        while state.expand() is not None:
            pass
        return Tracer(state.results()[0])

    return push


def directions(arrays: Sequence[Any], seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [np.asarray(rng.normal(size=np.shape(a)), dtype=np.asarray(a).dtype) for a in arrays]


def pair(xs: Sequence[Any], ys: Sequence[Any]) -> float:
    return float(sum(np.sum(np.asarray(x, float) * y) for x, y in zip(xs, ys, strict=True)))


def check_derivatives(
    f: Function, *arrays: Any, order: int = 2, rtol: float = 1e-6, vary: Function = lambda *v: v
) -> None:
    """Check ⟨g, J·v⟩ = ⟨Jᵀ·g, v⟩ exactly, and J·v against central differences; then the same of x ↦ Jᵀ·g.

    `vary` maps directions to those in which f may be varied (symmetric ones, say).
    """
    n = len(arrays)
    vs = list(vary(*directions(arrays, 1)))
    (y,) = evaluate(f, *arrays)
    (g,) = directions([y], 2)
    (jv,) = evaluate(jvp(f, n), *arrays, *vs)
    jtg = evaluate(vjp(f, n), *arrays, g)
    size = 1e-300 + np.sqrt(pair([g], [g]) * pair([jv], [jv]))
    assert abs(pair([g], [jv]) - pair(jtg, vs)) <= 1e-10 * size, (pair([g], [jv]), pair(jtg, vs))
    # The five-point rule: its error is h⁴ and ε/h, about 1e-12 relative to the size of f.
    h = 1e-3 * min(1.0, *[1.0 + float(np.max(np.abs(a), initial=0)) for a in arrays])
    at = lambda t: np.asarray(evaluate(f, *[a + t * v for a, v in zip(arrays, vs, strict=True)])[0])
    slope = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)
    scale = 1e-12 + np.max(np.abs(slope), initial=0) + np.max(np.abs(y), initial=0)
    assert np.max(np.abs(slope - jv), initial=0) <= rtol * scale, (slope, jv)
    if order > 1:

        def flat(*xs: Any) -> Any:
            parts = [np.ravel(part) for part in vjp(f, n)(*xs, Tracer(as_term(g)))]
            return np.concatenate(parts)

        check_derivatives(flat, *arrays, order=order - 1, rtol=10 * rtol, vary=vary)
