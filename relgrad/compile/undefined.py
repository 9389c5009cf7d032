"""Programs that are NaN where, as written, they are undefined, and at what is not finite only where they are NaN."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from relgrad.compile.function import Compiled, compile_program
from relgrad.compile.source import Source
from relgrad.kernels import keeps_nan
from relgrad.kernels.containers import parts
from relgrad.kernels.extended.retry import filled
from relgrad.kernels.numbers import has_nan, is_floating
from relgrad.term import Term, subterms
from relgrad.trace.trace import Traced
from relgrad.types import ArrayType

QUIET = '@np.errstate(all="ignore")\n'
"""The decorator of a function that does not warn of floating point."""


def keep_undefined(
    compiled: Compiled, traced: Traced, tests: Sequence[Term], masks: Callable[[], Sequence[Term]]
) -> Compiled:
    """Return a program that is NaN where masks are true, which are asked for when any of the tests is.

    The masks are made the first time that they, or the source, are asked for.
    """
    return _Keeping(compiled, _Companions(compiled.program, traced, tests, masks), traced.outside)


def keep_numbers(
    compiled: Compiled, written: Callable[[], Compiled], outside: Mapping[Term, Any]
) -> Compiled:
    """Return a program that has what is `written` where that is a number, it is NaN, and an argument is not finite.

    The equations that it was made by hold for numbers: t·(1 − e⁻ᵃᵗ)/(at) is 1/a at t = ∞, but not as t·∫₀¹ e⁻ᵃᵗˢ ds.
    """
    return _Numbered(compiled, written, outside)


class _Numbered(Compiled):
    """A program, and the program as written, which is made when it is first asked for."""

    __slots__ = ("_main", "_written")

    def __init__(self, main: Compiled, written: Callable[[], Compiled], outside: Mapping[Term, Any]):
        self.program, self.code = main.program, main.code
        self._main, self._written = main, written
        function = main.function

        def call(*args: Any, **kwargs: Any) -> Any:
            found = function(*args, **kwargs)
            if not has_nan(found) or all(_is_finite(x) for x in parts((args, kwargs))):
                return found
            return filled(found, written().at(outside).function, args, kwargs)

        self.function = call

    def at(self, outside: Mapping[Term, Any]) -> Compiled:
        """Return the same program with other values of the inputs that are no arguments."""
        return _Numbered(self._main.at(outside), self._written, outside)

    def whole(self) -> Source:
        """Return the program alone."""
        return self._main.whole()


def _is_finite(x: Any) -> bool:
    return not is_floating(x) or bool(np.isfinite(x).all())


class _Companions:
    """The test and the masks of a program, of the same arguments."""

    def __init__(
        self, main: Source, traced: Traced, tests: Sequence[Term], masks: Callable[[], Sequence[Term]]
    ):
        self._traced, self._masks = traced, masks
        self._taken: dict[str, Term | None] = {}
        self._reserve(main)
        self.when = self._compiled(tests, f"{main.name}_leaves", _computes(tests), " or ".join)
        self._name = f"{main.name}_undefined"

    @cached_property
    def where(self) -> Compiled:
        """The masks, made when they are first asked for."""
        return self._compiled(self._masks(), self._name, True)

    def _reserve(self, program: Source) -> None:
        self._taken |= program.reserved

    def _compiled(
        self,
        roots: Sequence[Term],
        name: str,
        quiet: bool,
        results: Callable[[Sequence[str]], str] | None = None,
    ) -> Compiled:
        quietly = QUIET if quiet else ""
        made = compile_program(
            self._traced, roots, name, results=results, decorator=quietly, reserved=self._taken
        )
        self._reserve(made.program)
        return made


class _Keeping(Compiled):
    """A program with its companions."""

    __slots__ = ("_companions", "_main", "_outside")

    def __init__(self, main: Compiled, companions: _Companions, outside: Mapping[Term, Any]):
        self.program, self.code = main.program, main.code
        self._main, self._companions, self._outside = main, companions, outside
        when = companions.when.at(outside).function
        self.function = keeps_nan(when=when, where=self._masks)(main.function)

    def _masks(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._companions.where.at(self._outside)(*args, **kwargs)

    def at(self, outside: Mapping[Term, Any]) -> Compiled:
        """Return the same program with other values of the inputs that are no arguments."""
        return _Keeping(self._main.at(outside), self._companions, outside)

    def whole(self) -> Source:
        """Return the program with its test and its masks."""
        found = self._companions
        when, where = [c.at(self._outside).program for c in (found.when, found.where)]
        return self._main.whole().decorated(
            "keeps_nan", f"@keeps_nan(when={when.name}, where={where.name})", [when, where]
        )


def _computes(tests: Sequence[Term]) -> bool:
    """Whether a test computes with floats, rather than compares arguments."""
    return any(
        x.rands and not (isinstance(x.type, ArrayType) and x.type.dtype.kind != "f") for x in subterms(*tests)
    )
