"""Constants as text that gives back the same bits: Python numbers, NumPy scalars, arrays."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

READABLE = 64
"""Arrays of up to this many entries are written out entry by entry."""

PYTHON = {"b": bool, "i": int, "u": int, "f": float}
_CHUNK = 96


def number(value: Any, dtype: np.dtype) -> str | None:
    """Return the shortest Python number that becomes `value` when it is cast to `dtype`, or None.

    >>> number(np.float32(0.1), np.dtype("float32")), number(-np.inf, np.dtype("float64"))
    ('0.1', '-np.inf')
    """
    bits = np.asarray(value).astype(dtype).tobytes()
    python = PYTHON[dtype.kind](value)
    if dtype.kind != "f":
        candidates: Sequence[tuple[str, Any]] = [(repr(python), python)]
    elif math.isfinite(python):
        short = repr(float(str(dtype.type(value)))) if dtype.itemsize <= 8 else repr(python)
        candidates = [(short, float(short)), (repr(python), python)]
    elif math.isnan(python):
        candidates = [("np.nan", math.nan), ("-np.nan", -math.nan)]
    else:
        candidates = [("np.inf" if python > 0 else "-np.inf", python)]
    return next((text for text, x in candidates if np.asarray(x, dtype=dtype).tobytes() == bits), None)


def scalar(value: Any) -> str:
    """Return an expression for a NumPy scalar of the same dtype and bits.

    >>> scalar(np.float32(0.1))
    'np.float32(0.1)'
    """
    value = np.asarray(value)
    dtype = value.dtype.newbyteorder("=")
    if dtype.itemsize > 8:  # long double: its own text has the digits that a Python float lacks
        sign = "-" if np.isnan(value) and np.signbit(value) else ""
        return f"{sign}np.longdouble({str(value[()])!r})"
    text = number(value, dtype)
    if text is not None:
        return f"np.{dtype.name}({text})" if dtype.kind != "b" else f"np.bool_({text})"
    unsigned = f"uint{8 * dtype.itemsize}"
    return f"np.{unsigned}({value.astype(dtype).view(unsigned).item():#x}).view(np.{dtype.name})"


def array(value: np.ndarray) -> str:
    """Return an expression for an array of the same dtype, shape and bits; several lines for a large one.

    >>> array(np.array([1.0, np.nan])), array(np.zeros((2, 3), "float32"))
    ('np.array([1.0, np.nan])', 'np.zeros((2, 3), dtype=np.float32)')
    """
    if value.ndim == 0:
        return scalar(value)
    dtype = _dtype(value.dtype)
    default = ", dtype=" + dtype if dtype != "np.float64" else ""
    if value.size == 0:
        return f"np.zeros({value.shape}{default})"
    raw = np.ascontiguousarray(value)
    first = raw.reshape(-1)[0]
    if value.size > 1 and _same(raw, np.full(value.shape, first)) and (text := number(first, value.dtype)):
        if text in ("0", "0.0", "False"):
            return f"np.zeros({value.shape}{default})"
        if text in ("1", "1.0", "True"):
            return f"np.ones({value.shape}{default})"
        return f"np.full({value.shape}, {text}, dtype={dtype})"
    if value.ndim == 1 and value.size > 4 and _counts(raw):
        return f"np.arange({value.size}, dtype={dtype})"
    if value.size <= READABLE and (text := _entries(raw)) is not None:
        keep = value.dtype in (np.float64, np.bool_)
        return f"np.array({text}{'' if keep else ', dtype=' + dtype})"
    return _encoded(raw)


def _encoded(raw: np.ndarray) -> str:
    """bits → np.frombuffer(base64.b64decode("…"), dtype=…).reshape(…), in lines of _CHUNK letters."""
    code = base64.b64encode(raw.tobytes()).decode()
    chunks = [code[i : i + _CHUNK] for i in range(0, len(code), _CHUNK)]
    body = "\n".join(f'        "{chunk}"' for chunk in chunks)
    shape = "" if raw.ndim == 1 else f".reshape{raw.shape}"
    return f"np.frombuffer(\n    base64.b64decode(\n{body}\n    ),\n    dtype={raw.dtype.str!r},\n){shape}"


def _entries(raw: np.ndarray) -> str | None:
    """[[1., 2.], [3., 4.]] → "[[1.0, 2.0], [3.0, 4.0]]", or None where a Python number cannot hold an entry."""
    texts = [number(x, raw.dtype) for x in raw.reshape(-1)]
    if None in texts:
        return None
    level: list[str] = texts  # type: ignore[assignment]
    for extent in reversed(raw.shape[1:]):
        level = [f"[{', '.join(level[i : i + extent])}]" for i in range(0, len(level), extent)]
    return f"[{', '.join(level)}]"


def _counts(raw: np.ndarray) -> bool:
    """Whether the entries are 0, 1, 2, …; truth values do not count."""
    return raw.dtype.kind != "b" and _same(raw, np.arange(raw.size, dtype=raw.dtype))


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and a.tobytes() == b.tobytes()


def _dtype(dtype: np.dtype) -> str:
    if not dtype.isnative:
        return repr(dtype.str)
    return f"np.{dtype.name}" if dtype.kind != "b" else "np.bool_"
