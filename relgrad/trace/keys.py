"""What of a key must be known while a function is traced: bounds of slices, masks, and positions that are written to.

x[i:i + 3]        x[mask]        x[k] = y
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from relgrad.op import Symbolic, is_constant
from relgrad.trace.decisions import decided


def settled(key: Any, written: bool = False) -> Any:
    """x[mask] → x[[True, False]], x[i:] → x[2:]: a key with decided values in place of traced masks and bounds.

    And of all that is `written`. Traced integers stay in a key that is only read: entries are gathered by them.
    """
    if type(key) is int:
        return key
    return tuple([_entry(e, written) for e in key]) if isinstance(key, tuple) else _entry(key, written)


def _entry(e: Any, written: bool) -> Any:
    """slice(i, None) → slice(2, None), range(3) → [0, 1, 2]: one entry of a key, settled."""
    if isinstance(e, slice):
        bounds: tuple[Any, ...] = (e.start, e.stop, e.step)
        if not any(isinstance(b, Symbolic) for b in bounds):
            return e
        return slice(*[None if b is None else operator.index(b) for b in bounds])
    if isinstance(e, range):
        return np.array(e, np.intp)
    if isinstance(e, Symbolic) and is_constant(e.term):
        return e.term.op.value[()]
    if isinstance(e, Symbolic) and (written or _is_boolean(e)):
        value = decided(e.term)
        return e if value is None else np.asarray(value)[()]
    if written and isinstance(e, list):
        return [_entry(part, written) for part in e]
    return e


def _is_boolean(x: Any) -> bool:
    kind = getattr(x.term, "type", None)
    return getattr(getattr(kind, "dtype", None), "kind", "") == "b"
