"""Programs that are computed once more in doubled arithmetic, as written, where digits cancel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from relgrad.compile.function import Compiled, compile_program
from relgrad.compile.operands import supplied
from relgrad.compile.source import Source
from relgrad.kernels.doubled.number import Doubled
from relgrad.kernels.doubled.precise import mending
from relgrad.kernels.numbers import Twin
from relgrad.leaf import Input
from relgrad.op import Constant
from relgrad.ops.arithmetic import multiply
from relgrad.ops.casting import Cast
from relgrad.ops.selection import where
from relgrad.term import Term, subterms
from relgrad.trace.trace import Traced
from relgrad.types import ArrayType


def mended(compiled: Compiled, traced: Traced, written: Callable[[], Sequence[Term]]) -> Compiled:
    """Return a program with guards as one that is computed again as `written`, when one of them trips.

    What is written is asked for the first time that a guard trips, or that the source is asked for.
    """
    return _Mended(compiled, _Written(compiled.program, traced, written), traced.outside)


class _Written:
    """The program as written, of the same arguments."""

    def __init__(self, main: Source, traced: Traced, written: Callable[[], Sequence[Term]]):
        self._main, self._traced, self._made = main, traced, written

    @cached_property
    def compiled(self) -> Compiled:
        """The program, made when it is first asked for."""
        name = f"{self._main.name}_as_written"
        return compile_program(self._traced, self.roots, name, reserved=self._main.reserved)

    @cached_property
    def roots(self) -> Sequence[Term]:
        """The results as written."""
        return self._made()

    @cached_property
    def fits(self) -> bool:
        """Whether all rounding is seen: floats that are made of integers or truth values are not, but for casts."""
        return not any(
            x.type.dtype.kind == "f" and x.op is not where and type(x.op) is not Cast and not _masks(x)
            for x in subterms(*self.roots)
            if isinstance(x.type, ArrayType) and x.rands and not any(map(_is_computed_float, x.rands))
        )

    @cached_property
    def entrywise(self) -> bool:
        """Whether each entry of the results is computed of single entries of arguments, wherever it stands."""
        shapes = {root.type.shape for root in self.roots}
        nodes, seen = list(self.roots), set(self.roots)
        while nodes:
            node = nodes.pop()
            leaf = type(node.op) is Input or (type(node.op) is Constant and node.type.ndim == 0)
            if not leaf and not node.op.elementwise:
                return False
            new = [x for x in supplied(node) if x not in seen]
            nodes += new
            seen.update(new)
        return len(shapes) == 1 and not self._traced.outside


def _masks(x: Term) -> bool:
    return x.op is multiply and any(y.type.dtype.kind == "b" for y in x.rands)


def _is_computed_float(x: Any) -> bool:
    return isinstance(x.type, ArrayType) and x.type.dtype.kind == "f" and type(x.op) is not Constant


class _Doubled:
    """The program as written in doubled arithmetic, with values of the inputs that are no arguments."""

    def __init__(self, written: _Written, outside: Mapping[Term, Any]):
        self._written, self._outside = written, outside

    @cached_property
    def _twin(self) -> Twin:
        return Twin(self.compiled().function, Doubled)

    def compiled(self) -> Compiled:
        """Return the program as written."""
        return self._written.compiled.at(self._outside)

    def entrywise(self) -> bool:
        """Whether it can be asked for some entries."""
        return self._written.entrywise

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if not self._written.fits:
            raise NotImplementedError
        return self._twin(*args, **kwargs)


class _Mended(Compiled):
    """A program and the program as written."""

    __slots__ = ("_doubled", "_main", "_written")

    def __init__(self, main: Compiled, written: _Written, outside: Mapping[Term, Any]):
        self.program, self.code = main.program, main.code
        self._main, self._written = main, written
        self._doubled = _Doubled(written, outside)
        self.function = mending(main.function, self._doubled, self._doubled.entrywise)

    def at(self, outside: Mapping[Term, Any]) -> Compiled:
        """Return the same program with other values of the inputs that are no arguments."""
        return _Mended(self._main.at(outside), self._written, outside)

    def whole(self) -> Source:
        """Return the program with the program as written."""
        written = self._doubled.compiled().program
        how = ", entrywise=True" if self._doubled.entrywise() else ""
        return self.program.decorated("precise", f"@precise(by={written.name}{how})", [written])
