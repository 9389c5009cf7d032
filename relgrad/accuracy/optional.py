"""Dependencies that only this room needs, imported where they are used."""

from __future__ import annotations

import importlib
from types import ModuleType

from relgrad.errors import RelgradError

PACKAGES = {"matplotlib.pyplot": "matplotlib"}


class MissingDependency(RelgradError, ImportError):
    """A package that is optional is needed now, and is not installed."""


def optional(name: str) -> ModuleType:
    """flint → the module; raises MissingDependency, with the cure, where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingDependency(
            f"{PACKAGES[name]} is needed for this and cannot be imported",
            cause=str(error),
            cure="pip install relgrad[accuracy]",
        ) from error
