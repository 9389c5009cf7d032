"""One tree of exceptions: what went wrong, where, the likely cause, and the cure."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from types import FrameType
from typing import Any

import numpy as np

_HERE = os.path.dirname(os.path.abspath(__file__))
_SKIP = (
    *[
        os.path.join(path, "")
        for path in (_HERE, os.path.join(os.path.dirname(_HERE), "relations"), os.path.dirname(np.__file__))
    ],
    contextlib.__file__,  # what is decorated with a context
)
_SCIPY = os.path.join(os.path.dirname(os.path.dirname(np.__file__)), "scipy", "")


def user_line() -> str:
    """Return `file:line` of the innermost frame of the user's: not of relgrad, what it generates, NumPy or SciPy."""
    frame, _ = user_frame()
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else "<unknown>"


def readable(where: str) -> str:
    """Return a place as its reader knows it: `In[3]:2` for a line of a notebook's cell, which has a file of its own.

    >>> readable("loss.py:2")
    'loss.py:2'
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    file, colon, line = where.rpartition(":")
    cell = shell.compile.format_code_name(file) if shell is not None and colon else None
    return f"{cell[1]}:{line}" if cell else where


def warn(kind: type[RelgradWarning], what: str, **told: Any) -> None:
    """Warn at the innermost line of the user's, in the words of an error: what, where, cause and cure."""
    frame, depth = user_frame()
    warnings.warn(kind(RelgradError(what, **told)), stacklevel=depth if frame is not None else 2)


def is_users(filename: str) -> bool:
    """Whether code of this file belongs to neither relgrad, nor what it generates, nor NumPy."""
    return not filename.startswith((*_SKIP, "<relgrad "))


def user_frame() -> tuple[FrameType | None, int]:
    """relgrad ← relgrad ← user's line → that frame, 2:
    the innermost frame of the user's, and its `stacklevel` for the caller.
    """
    frame, depth = sys._getframe(2), 2
    while frame is not None:
        name = frame.f_code.co_filename
        # What dataclasses generate has no file either; what SciPy calls is called for the user's sake.
        generated = name.startswith(("<__array_function__", _SCIPY)) or (name, frame.f_code.co_name) == (
            "<string>",
            "__init__",
        )
        if is_users(name) and not generated:
            break
        frame, depth = frame.f_back, depth + 1
    return frame, depth


class RelgradError(Exception):
    """The root of the tree: a message built of what, where, cause and cure.

    >>> print(RelgradError("x went wrong", where="f.py:3", cause="y", cure="do z"))
    x went wrong
      where: f.py:3
      cause: y
      cure:  do z
    """

    def __init__(self, what: str, *, where: str | None = None, cause: str = "", cure: str = ""):
        """(what, where, cause, cure) → lines of text; `where` is the user's innermost line by default."""
        self.what, self.where, self.cause, self.cure = what, where or user_line(), cause, cure
        lines = [what, f"  where: {readable(self.where)}"]
        if cause:
            lines.append(f"  cause: {cause}")
        if cure:
            lines.append(f"  cure:  {cure}")
        super().__init__("\n".join(lines))

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.what, self.where, self.cause, self.cure)


def _again(cls: type[RelgradError], what: str, where: str, cause: str, cure: str) -> RelgradError:
    return cls(what, where=where, cause=cause, cure=cure)


class TraceError(RelgradError, TypeError):
    """A construct in the user's function cannot be traced."""


class ShapeError(RelgradError, ValueError):
    """Shapes or axes do not fit."""


class OutOfBoundsError(ShapeError, IndexError):
    """An index names no entry."""


class GradientError(RelgradError, TypeError):
    """A derivative was asked for that does not exist or is not defined."""


class OpError(RelgradError, NotImplementedError):
    """An op does not answer a question that it was asked."""


class RelationError(RelgradError, ValueError):
    """A relation is not an equation between two NumPy expressions."""


class AssumptionError(RelgradError, ValueError):
    """An assumption is false, contradicts another, or says nothing of a range."""


class ConventionError(RelgradError, ValueError):
    """A convention has no such value."""


class LawError(RelgradError, ValueError):
    """The laws that are declared of an op contradict each other, or cannot be honoured."""


class DerivationError(RelgradError, ValueError):
    """A derivation that cannot be saved, loaded or replayed."""


class RelgradWarning(UserWarning):
    """Something the caller should know, though a result was found."""


class OutOfFuel(RelgradWarning):
    """The scheduler stopped before it was done; the best program so far is returned."""


class FailedRelation(RelgradWarning):
    """A relation raised an exception where it was tried; the place is left as it is."""


class ManyBranches(RelgradWarning):
    """Calls of a function decide in so many ways that making programs takes most of the time."""


class WrongRewrite(RelgradWarning):
    """A rewritten program did not compute what the program as written does; the move at fault is left out."""
