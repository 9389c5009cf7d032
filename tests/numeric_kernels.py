"""The kernels that compute numbers from numbers, by name: what decorates generated programs is none."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from relgrad import kernels

AROUND_PROGRAMS = ("decided", "undefined")
"""Modules of what stands around generated programs."""


def numeric_kernels() -> list[str]:
    """Return the names that the modules of kernels export."""
    modules = [
        m.name for m in iter_modules(kernels.__path__) if not m.ispkg and m.name not in AROUND_PROGRAMS
    ]
    exported = [getattr(import_module(f"{kernels.__name__}.{name}"), "__all__", ()) for name in modules]
    return sorted(name for names in exported for name in names)
