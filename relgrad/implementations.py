"""What traces a NumPy function: declared beside the op, looked up by the tracer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

IMPLEMENTATIONS: dict[Any, Callable[..., Any]] = {}
"""NumPy and SciPy functions, and names of array methods, to what traces them."""


def implements(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """implements(np.add)(f) → IMPLEMENTATIONS[np.add] = f:
    f traces these NumPy functions, ufuncs or array methods (by name).
    """

    def register(builder: Callable[..., Any]) -> Callable[..., Any]:
        for function in functions:
            IMPLEMENTATIONS[function] = builder
        return builder

    return register
