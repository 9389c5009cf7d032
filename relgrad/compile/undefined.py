"""Programs that are NaN where, as written, they are undefined, beside what is not finite only where they are NaN."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from relgrad.compile.function import Beside, Compiled, compile_program
from relgrad.compile.source import Source
from relgrad.kernels import keeps_nan
from relgrad.kernels.extended.retry import filled
from relgrad.kernels.numbers import has_nan
from relgrad.term import Term, subterms
from relgrad.trace.trace import Traced
from relgrad.types import ArrayType

QUIET = '@np.errstate(all="ignore")\n'
"""The decorator of a function that does not warn of floating point."""


def keep_undefined(
    compiled: Compiled, traced: Traced, tests: Sequence[Term], masks: Callable[[], Sequence[Term]]
) -> Compiled:
    """f → where(masks, nan, f), where any(tests): a program that is NaN where the one as written is undefined.

    The masks are made the first time that they, or the source, are asked for.
    """
    name, taken = compiled.program.name, dict(compiled.program.reserved)

    def made(roots: Sequence[Term], name: str, quiet: bool, **options: Any) -> Compiled:
        found = compile_program(
            traced, roots, name, decorator=QUIET if quiet else "", reserved=taken, **options
        )
        taken.update(found.program.reserved)
        return found

    test = made(tests, f"{name}_leaves", _computes(tests), results=" or ".join)
    undefined = cache(lambda: made(masks(), f"{name}_undefined", True))

    def joined(function: Callable[..., Any], outside: Mapping[Term, Any]) -> Callable[..., Any]:
        where = lambda *args, **kwargs: undefined().at(outside)(*args, **kwargs)
        return keeps_nan(when=test.at(outside).function, where=where)(function)

    def shown(main: Compiled, outside: Mapping[Term, Any]) -> Source:
        when, where = [c.at(outside).program for c in (test, undefined())]
        text = f"@keeps_nan(when={when.name}, where={where.name})"
        return main.whole().decorated("keeps_nan", text, [when, where])

    return Beside(compiled, traced.outside, joined, shown)


def keep_numbers(
    compiled: Compiled, written: Callable[[], Compiled], outside: Mapping[Term, Any]
) -> Compiled:
    """Return a program that has what is `written` where that is a number, and it is NaN, of an argument that is not
    finite or of a divisor that is 0.

    The equations that it was made by hold for numbers: t·(1 − e⁻ᵃᵗ)/(at) is 1/a at t = ∞, but not as t·∫₀¹ e⁻ᵃᵗˢ ds.
    """

    def joined(function: Callable[..., Any], outside: Mapping[Term, Any]) -> Callable[..., Any]:
        told = getattr(function, "told", None)

        def call(*args: Any, **kwargs: Any) -> Any:
            found, nan = told(*args, **kwargs) if told else (function(*args, **kwargs), True)
            if not nan or not has_nan(found):
                return found
            plain = lambda: written().at(outside).function(*args, **kwargs)
            return filled(found, plain, (args, kwargs, [*outside.values()]))

        return call

    return Beside(compiled, outside, joined, lambda main, _: main.whole())


def keep_silent(compiled: Compiled, traced: Traced) -> Compiled:
    """with np.errstate(divide="ignore"): y/x → @np.errstate(divide="ignore"): a program that warns of nothing of which
    the function does not.
    """
    if not traced.silent:
        return compiled
    kinds: dict[str, Any] = dict.fromkeys(sorted(traced.silent), "ignore")
    line = f"@np.errstate({', '.join(f'{kind}={how!r}' for kind, how in kinds.items())})\n".replace("'", '"')

    def shown(main: Compiled, _: Mapping[Term, Any]) -> Source:
        source = main.whole()
        return replace(source, function=line + source.function)

    return Beside(compiled, traced.outside, lambda function, _: np.errstate(**kinds)(function), shown)


def _computes(tests: Sequence[Term]) -> bool:
    """Whether a test computes with floats, rather than compares arguments: log(x) < y: yes; x < 0, isnan(x): no."""
    return any(
        x.rands and not (isinstance(x.type, ArrayType) and x.type.dtype.kind != "f") for x in subterms(*tests)
    )
