"""Evaluating terms by the source that their ops write, against the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from linear_checks import inputs_like

import relgrad.kernels
from relgrad.interpret import interpret
from relgrad.op import Constant, as_term
from relgrad.term import Term, subterms


def run_source(roots: Sequence[Term], arguments: dict[Term, Any]) -> list[Any]:
    """Evaluate roots statement by statement from their ops' source, which sees only the names it declares."""
    values: dict[Term, Any] = dict(arguments)
    for i, node in enumerate(subterms(*roots)):
        if node in values:
            continue
        if isinstance(node.op, Constant):
            values[node] = node.op.value
            continue
        names = [f"t{i}_{k}" for k in range(len(node.rands))]
        scope = {"np": np, **{name: getattr(relgrad.kernels, name) for name in node.op.imports}}
        scope.update(zip(names, [values[rand] for rand in node.rands], strict=True))
        text = node.op.source(node, names)
        assert text is not None, f"{node.op} writes no source"
        values[node] = eval(text, scope)
    return [values[root] for root in roots]


def both_ways(f: Any, *arrays: Any, unknown: bool = False) -> list[Any]:
    """Trace f, and return what the interpreter computes, which the source must compute bit for bit."""
    xs = inputs_like(arrays, unknown)
    out = f(*xs)
    roots = [as_term(y) for y in (out if isinstance(out, (tuple, list)) else [out])]
    arguments = {x.term: np.asarray(a) for x, a in zip(xs, arrays, strict=True)}
    values = interpret(roots, arguments)
    for root, value, other in zip(roots, values, run_source(roots, arguments), strict=True):
        np.testing.assert_array_equal(value, other)
        assert root.type.dtype == np.asarray(value).dtype == np.asarray(other).dtype
        shape = np.shape(value)
        assert len(root.type.shape) == len(shape)
        assert all(m in (None, n) for m, n in zip(root.type.shape, shape, strict=True)), (root.type, shape)
    return values


def same_as_numpy(f: Any, *arrays: Any, unknown: bool = False, rtol: float = 1e-12) -> None:
    """Check that tracing f and running it gives what f gives on arrays: values, shapes and dtypes."""
    theirs = f(*arrays)
    theirs = theirs if isinstance(theirs, (tuple, list)) else [theirs]
    for ours, other in zip(both_ways(f, *arrays, unknown=unknown), theirs, strict=True):
        other = np.asarray(other)
        assert np.shape(ours) == other.shape
        assert np.asarray(ours).dtype == other.dtype
        tolerance = 1e-5 if other.dtype == np.float32 else rtol
        np.testing.assert_allclose(ours, other, rtol=tolerance, atol=tolerance)
