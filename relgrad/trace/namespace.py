"""The array API's namespace of tracers: NumPy, and what of it does not dispatch on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from relgrad.op import Symbolic
from relgrad.trace.dispatch import call_function


class Namespace:
    """x.__array_namespace__().exp(x) → np.exp(x): NumPy as code for the array API sees it when its arguments are
    traced.
    """

    __name__ = "relgrad.trace.namespace"

    def __init__(self, wrap: Callable[[Any], Any]):
        self.special = Special(wrap)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def __dir__(self) -> list[str]:
        return dir(np)

    def asarray(self, obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Any:
        """Return a traced array as it is (or converted); make an array of anything else."""
        if not isinstance(obj, Symbolic):
            return np.asarray(obj, dtype=dtype, copy=copy)
        return obj if dtype is None else self.astype(obj, dtype)

    def astype(self, x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
        """Return an array converted to a dtype."""
        return x.astype(dtype)


class Special:
    """special.erf(x) → erf(x), traced: the functions of scipy.special, which SciPy looks for here if SCIPY_ARRAY_API is
    set.

    They are no ufuncs then, so that tracers do not see their calls. `wrap` makes tracers of terms.
    """

    def __init__(self, wrap: Callable[[Any], Any]):
        self._wrap = wrap

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function = getattr(scipy.special, name)
        return lambda *args, **kwargs: self._wrap(call_function(function, args, kwargs))
