"""Programs for calls that decide in one way: the decisions, compiled as written, and the program that they lead to."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

from relgrad.compile.function import Compiled, compile_program, compile_source
from relgrad.compile.source import Source
from relgrad.compile.undefined import QUIET
from relgrad.kernels.decided import answers
from relgrad.term import Term
from relgrad.trace.trace import Traced


def decide(compiled: Compiled, traced: Traced) -> Compiled:
    """Return a program that knows what a trace decided; the program itself, if that is nothing."""
    if not traced.decisions:
        return compiled
    whole = compiled.whole()
    taken: dict[str, Term | None] = dict.fromkeys((whole.name, *whole.constants, *whole.objects))
    taken |= {word: node for node, word in whole.outside.items()}
    terms = [d.term for d in traced.decisions]
    made = compile_program(traced, terms, f"{whole.name}_decisions", results=_list, reserved=taken)
    by = compile_source(replace(made.program, function=QUIET + made.program.function))
    return Deciding(compiled, by, tuple([d.answer for d in traced.decisions]), traced.outside)


def _list(texts: Any) -> str:
    return f"[{', '.join(texts)}]"


class Deciding(Compiled):
    """A program and its decisions. The function itself does not ask: whoever calls it has."""

    __slots__ = ("_by", "_main", "_outside", "answers")

    def __init__(
        self, main: Compiled, by: Compiled, answers: tuple[Hashable, ...], outside: Mapping[Term, Any]
    ):
        self.program, self.code, self.function = main.program, main.code, main.function
        self._main, self._by, self.answers, self._outside = main, by, answers, outside

    def asked(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Hashable, ...]:
        """Return the answers that a call gives; raises what computing them raises."""
        return answers(self._by(*args, **kwargs))

    def at(self, outside: Mapping[Term, Any]) -> Compiled:
        """Return the same program with other values of the inputs that are no arguments."""
        return Deciding(self._main.at(outside), self._by.at(outside), self.answers, outside)

    def whole(self) -> Source:
        """Return the program, its decisions, and the answers for which it is made."""
        by = self._by.program
        line = f"@decided(by={by.name}, as_={self.answers!r})"
        return self._main.whole().decorated("decided", line, [by])
