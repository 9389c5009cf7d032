"""Programs for calls that decide in one way: the decisions, compiled as written, and the program that they lead to."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

from relgrad.compile.function import Compiled, compile_program
from relgrad.compile.source import Source
from relgrad.compile.undefined import QUIET
from relgrad.kernels.decided import answers
from relgrad.term import Term
from relgrad.trace.trace import Traced


def decide(compiled: Compiled, traced: Traced) -> Compiled:
    """f, x > 0 → f that knows [x > 0]: a program with the decisions of its trace; the program itself without any."""
    return _Deciding(compiled, traced, _decisions(traced, compiled.program)) if traced.decisions else compiled


def _decisions(traced: Traced, beside: Source) -> Compiled:
    """Return the function that answers what was asked, of the same arguments as a program beside which it stands."""
    terms, name = [d.term for d in traced.decisions], f"{beside.name}_decisions"
    return compile_program(traced, terms, name, results=_list, decorator=QUIET, reserved=beside.reserved)


def _list(texts: Any) -> str:
    return f"[{', '.join(texts)}]"


class _Deciding(Compiled):
    """A program and its decisions. The function itself does not ask: whoever calls it has."""

    __slots__ = ("_by", "_main", "_traced")

    def __init__(self, main: Compiled, traced: Traced, by: Compiled):
        self.program, self.code, self.function = main.program, main.code, main.function
        self._main, self._traced, self._by = main, traced, by

    def asked(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Hashable, ...]:
        """Return the answers that a call gives; raises what computing them raises."""
        return answers(self._by(*args, **kwargs))

    def at(self, outside: Mapping[Term, Any]) -> Compiled:
        """Return the same program with other values of the inputs that are no arguments."""
        return _Deciding(self._main.at(outside), replace(self._traced, outside=outside), self._by.at(outside))

    def whole(self) -> Source:
        """Return the program, its decisions, and the answers for which it is made."""
        main = self._main.whole()
        by = _decisions(self._traced, main).program
        return main.decorated("decided", f"@decided(by={by.name}, as_={self._traced.answers!r})", [by])
