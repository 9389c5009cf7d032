"""Exceptions that depend on values, where the user's code may catch them.

try: l = np.linalg.cholesky(a)      one program for the calls in which a is positive definite,
except LinAlgError: l = …           another, traced through the handler, for those in which it is not

Elsewhere the program raises them when it runs, as NumPy does, and nothing is asked while the function is traced. If
the function handles exceptions anywhere, its terms are computed one by one, so that each raises where it stands.
"""

from __future__ import annotations

import dis
import sys
from functools import lru_cache
from itertools import pairwise
from types import CodeType
from typing import Any

import numpy as np

from relgrad.errors import is_users

STATES = frozenset(("errstate", "seterr"))
"""Names by which code makes NumPy raise what it warns of."""
SUPPRESSORS = frozenset(("suppress", "raises", "assertRaises"))
"""Names of context managers that catch."""


@lru_cache(maxsize=2048)
def handled(code: CodeType) -> tuple[tuple[int, int], ...]:
    """try: … except: … → ((start, end),): the ranges of instructions, in bytes, in which exceptions are handled by the
    code.

    What leaves a `with` statement is handled where that stands, unless it catches itself.
    """
    read = dis.Bytecode(code)
    entries = read.exception_entries  # type: ignore[attr-defined]
    instructions = [i for i in read if i.opname not in ("CACHE", "NOP", "EXTENDED_ARG")]
    after = {a.offset: b for a, b in pairwise(instructions) if a.opname == "PUSH_EXC_INFO"}
    suppresses = not SUPPRESSORS.isdisjoint((*code.co_names, *code.co_freevars))

    def catches(entry: Any) -> bool:
        """entry → whether its handler is the user's, and no clean-up that raises again; or lies within one:
        start ≤ target < end.
        """
        first = after.get(entry.target)
        if first is not None and (suppresses or first.opname != "WITH_EXCEPT_START"):
            return True
        # What a handler cleans up after, or a context manager lets pass, is raised again: within the handler.
        return any(e.start <= entry.target < e.end and catches(e) for e in entries if e is not entry)

    return tuple([(entry.start, entry.end) for entry in entries if catches(entry)])


def attends(code: CodeType) -> bool:
    """Whether it matters to code what is raised within it: it handles exceptions, or makes NumPy raise them."""
    return bool(handled(code)) or not STATES.isdisjoint(code.co_names)


def is_attempt(top: CodeType) -> bool:
    """start ≤ at < end in some frame below `top` → True:
    whether an exception at this place may be handled by the user.
    """
    frame = sys._getframe(1)
    while frame is not None and frame.f_code is not top:
        if is_users(frame.f_code.co_filename):
            at = frame.f_lasti
            if any(start <= at < end for start, end in handled(frame.f_code)):
                return True
        frame = frame.f_back
    return False


def raising() -> tuple[str, ...]:
    """Return the kinds of floating-point errors that raise at this place, as `np.errstate` names them."""
    return treated("raise")


def treated(how: str) -> tuple[str, ...]:
    """errstate(divide="ignore"), "ignore" → ("divide", "under"): the kinds of errors that are treated so here."""
    return tuple([kind for kind, what in np.geterr().items() if what == how])
