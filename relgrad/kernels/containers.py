"""Containers of arrays: what functions return."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

LEAVES = frozenset((np.ndarray, np.float64, np.float32, np.bool_, float, int, bool, str, type(None)))
"""The types of what is asked for most, and is no container."""


def parts(x: Any) -> list[Any]:
    """{"a": x, "b": (y, z)} → [x, y, z]: the arrays in a container, in the order in which it is mapped."""
    if type(x) in LEAVES:
        return [x]
    if isinstance(x, dict):
        x = list(x.values())
    elif is_dataclass(x) and not isinstance(x, type):
        x = [getattr(x, f.name) for f in fields(x)]
    return [part for item in x for part in parts(item)] if isinstance(x, (list, tuple)) else [x]


def paired(change: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """change, (x, (y,)), (u, (v,)) → (change(x, u), (change(y, v),)): one container changed by another's arrays."""
    others = iter(parts(y))
    return mapped(lambda part: change(part, next(others)), x)


def mapped(change: Callable[[Any], Any], x: Any) -> Any:
    """change, {"a": (x, y)} → {"a": (change(x), change(y))}: a container of the same kind, its arrays changed."""
    if type(x) in LEAVES:
        return change(x)
    if isinstance(x, dict):
        items = {key: mapped(change, value) for key, value in x.items()}
        if type(x) is dict:
            return items
        new = copy(x)  # of its kind, as a dictionary with defaults
        new.update(items)
        return new
    if isinstance(x, (list, tuple)):
        items = [mapped(change, value) for value in x]
        return x._make(items) if hasattr(x, "_make") else type(x)(items)  # pyright: ignore[reportAttributeAccessIssue]
    if is_dataclass(x) and not isinstance(x, type):
        new = copy(x)
        for f in fields(x):
            object.__setattr__(new, f.name, mapped(change, getattr(x, f.name)))
        return new
    return change(x)
