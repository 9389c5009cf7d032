"""Generated source to a function: the same NumPy calls as hand-written code, and nothing else at run time."""

from __future__ import annotations

import itertools
import linecache
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relgrad.compile.source import Source, write_source
from relgrad.term import Term

_serial = itertools.count(1)


class Compiled:
    """A compiled program: call it, read its `source`, or take the bare `function`."""

    __slots__ = ("__weakref__", "function", "program")

    def __init__(self, function: Callable[..., Any], program: Source):
        self.function, self.program = function, program

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    @property
    def source(self) -> str:
        """The text that, executed alone, defines the same function."""
        return self.program.text

    def __repr__(self) -> str:
        return f"<compiled {self.program.name}: {self.program.function.count(chr(10))} lines>"


def compile_program(
    name: str,
    parameters: Sequence[str],
    inputs: Mapping[Term, str],
    roots: Sequence[Term],
    results: Callable[[Sequence[str]], str] | None = None,
    **options: Any,
) -> Compiled:
    """Return the compiled function that computes the roots; arguments are those of `write_source`.

    Tracebacks through it show the generated lines.
    """
    return compile_source(write_source(name, parameters, inputs, roots, results, **options))


def compile_source(source: Source) -> Compiled:
    """Return the function that a source defines, its constants handed in rather than parsed."""
    text = "\n".join(source.imports) + "\n\n\n" + source.function
    filename = f"<relgrad {source.name} {next(_serial)}>"
    namespace: dict[str, Any] = {"__name__": "relgrad.generated"}
    exec(compile(text, filename, "exec"), namespace)
    namespace.update(source.constants)
    namespace.update(source.objects)
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    function = namespace[source.name]
    weakref.finalize(function, linecache.cache.pop, filename, None)
    return Compiled(function, source)
