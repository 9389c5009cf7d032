"""Generated source to a function: the same NumPy calls as hand-written code, and nothing else at run time."""

from __future__ import annotations

import ast
import itertools
import keyword
import linecache
import unicodedata
import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy as np

from relgrad import kernels
from relgrad.compile.extended import may_leave_range
from relgrad.compile.guards import guards, watched
from relgrad.compile.sink import sink_squeezes
from relgrad.compile.source import Source, write_source
from relgrad.compile.zeros import without_negative_zeros
from relgrad.schedule.fold import fold
from relgrad.term import Term, rebuild, remade
from relgrad.trace.trace import Traced

_serial = itertools.count(1)
_gone: list[str] = []
"""Files of programs that are gone: a collection may fall into a loop over `linecache`, which must not change then."""


class Compiled:
    """A compiled program: call it, read its `source`, or take the bare `function`."""

    __slots__ = ("__weakref__", "code", "function", "program")

    def __init__(self, program: Source, code: CodeType):
        self.program, self.code = program, code
        namespace: dict[str, Any] = {"__name__": "relgrad.generated"}
        exec(code, namespace)
        namespace.update(program.constants)
        namespace.update(program.objects)
        self.function: Callable[..., Any] = namespace[program.name]

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def at(self, outside: Mapping[Term, Any]) -> Compiled:
        """f, {c: 2.0} → f with 2.0 for c: the same program with other values of the inputs that are no arguments."""
        names = self.program.outside
        if not names:
            return self
        values = {word: np.asarray(outside[node])[()] for node, word in names.items()}
        return Compiled(replace(self.program, constants={**self.program.constants, **values}), self.code)

    def asked(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Hashable, ...]:
        """f, x → (True, 3): the answers to the questions by which the program decides; none for one that does not."""
        return ()

    def whole(self) -> Source:
        """Return the program with all that it needs."""
        return self.program

    @property
    def source(self) -> str:
        """The text that, executed alone, defines the same function."""
        return self.whole().text

    def __repr__(self) -> str:
        return f"<compiled {self.program.name}: {self.program.function.count(chr(10))} lines>"


class Beside(Compiled):
    """A program with others beside it: `joined(function, outside)` computes, `shown(main, outside)` is its source."""

    __slots__ = ("_joined", "_main", "_outside", "_shown")

    def __init__(
        self,
        main: Compiled,
        outside: Mapping[Term, Any],
        joined: Callable[[Callable[..., Any], Mapping[Term, Any]], Callable[..., Any]],
        shown: Callable[[Compiled, Mapping[Term, Any]], Source],
    ):
        self.program, self.code = main.program, main.code
        self._main, self._outside, self._joined, self._shown = main, outside, joined, shown
        self.function = joined(main.function, outside)

    def at(self, outside: Mapping[Term, Any]) -> Compiled:
        """Return the same program with other values of the inputs that are no arguments."""
        return Beside(self._main.at(outside), outside, self._joined, self._shown)

    def whole(self) -> Source:
        """Return the program with all that it needs."""
        return self._shown(self._main, self._outside)


def compile_program(
    traced: Traced,
    roots: Sequence[Term],
    name: str,
    extended: bool = False,
    precise: bool = False,
    bits: int | None = None,
    folds: bool = True,
    relates: bool = False,
    results: Callable[[Sequence[str]], str] | None = None,
    decorator: str = "",
    **options: Any,
) -> Compiled:
    """f(x), [x·2] → def f(x): return x * 2: the function of a trace's arguments, with results in their structure.

    Constants are folded first, if it `folds`. An `extended` program is computed again in extended range where it leaves
    that of floats on the way, if it can. A `precise` one returns besides whether digits have cancelled, so many `bits`
    of them, if they can. Where a strategy `relates`, the zero of a difference is +0, whatever that is read as.
    `results` writes another expression of the results, `decorator` is a line that stands before the function; `options`
    are those of `write_source`. Tracebacks show the generated lines.
    """
    taken, paths = parameters(traced), traced.paths
    keywords = traced.in_structure.children[1].keys
    if not (all(map(_is_expression, paths)) and all(map(_is_parameter, keywords)) and _distinct(taken)):
        # Keys or keywords that cannot be written: the arguments are taken apart as the tracer did it.
        taken, paths = ["*args", "**kwargs"], [f"arrays(args, kwargs)[{i}]" for i in range(len(paths))]
        options["imports"] = [*options.get("imports", ()), "from relgrad.trace.arguments import arrays"]
    inputs = dict(zip(traced.inputs, paths, strict=True))
    roots = sink_squeezes(fold_constants(roots) if folds else roots)
    roots = watched(roots) if precise else roots
    extended = extended and may_leave_range(roots)
    count, tests = len(roots), guards(roots, bits=bits) if precise else []
    if relates:
        written = [*traced.outputs, *sink_squeezes(traced.outputs)]
        found = without_negative_zeros(written, [*roots, *tests])
        roots, tests = found[:count], found[count:]
    options |= {"extended": extended, "outside": traced.outside, "guards": tests}
    source = write_source(name, taken, inputs, roots, results or traced.out_structure, **options)
    return compile_source(replace(source, function=decorator + source.function) if decorator else source)


def fold_constants(roots: Sequence[Term]) -> list[Term]:
    """x·(2 + 3) → x·5: every application to constants replaced by its value, where that may be done."""

    def change(old: Term, rands: tuple[Any, ...]) -> Any:
        new = remade(old, rands)
        return fold(new) or new

    return rebuild(roots, change)


def _is_parameter(word: str) -> bool:
    """Whether a keyword argument of this name can be a parameter of the same name in generated code.

    >>> [word for word in ("x", "class", "a b", "ﬁ", "np", "logsumexp") if _is_parameter(word)]
    ['x']
    """
    if not word.isidentifier() or keyword.iskeyword(word) or word != unicodedata.normalize("NFKC", word):
        return False
    return word not in ("np", "base64", "arrays") and not hasattr(kernels, word)


def _distinct(taken: Sequence[str]) -> bool:
    words = [word.lstrip("*") for word in taken if word != "*"]
    return len(set(words)) == len(words)


@lru_cache(maxsize=1024)
def _is_expression(path: str) -> bool:
    """Whether a path to an argument can be written: x, params['W'][0]: yes; a key with a name in its repr: no."""
    if path.isidentifier():
        return True
    try:
        tree = ast.parse(path, mode="eval")
    except SyntaxError:
        return False
    # Names other than the parameter itself are the repr of something that nobody has imported.
    return sum(isinstance(node, ast.Name) for node in ast.walk(tree)) == 1


def parameters(traced: Traced) -> list[str]:
    """f(x, n=3, *, y) → [x, n, *, y]: the parameters that take a trace's arguments as its caller passed them.

    Arguments without arrays are accepted and have no effect: what they were is part of the program.
    """
    positional, keywords = traced.in_structure.children
    paths = iter(traced.paths)
    result: list[str] = []
    for i, child in enumerate(positional.children):
        own = [next(paths) for _ in range(child.size)]
        if not own:
            result.append(f"static_{i}")
            continue
        prefix = own[0].removesuffix(child.paths()[0])
        if not prefix.isidentifier():  # one of *xs, all of which it takes
            stars, _, index = prefix.rstrip("]").rpartition("[")
            del result[i - int(index) :]
            result.append(f"*{stars}")
            break
        result.append(prefix)
    if keywords.keys:
        result += [] if any(name.startswith("*") for name in result) else ["*"]
        result += keywords.keys
    return result


def compile_source(source: Source) -> Compiled:
    """Source → f: its function, constants handed in rather than parsed."""
    text = "\n".join(source.imports) + "\n\n\n" + source.function
    filename = f"<relgrad {source.name} {next(_serial)}>"
    code = compile(text, filename, "exec")
    with suppress(IndexError):  # other threads take from it, too
        while True:
            linecache.cache.pop(_gone.pop(), None)
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    # The code within is what the functions of all values share.
    weakref.finalize(next(c for c in code.co_consts if isinstance(c, CodeType)), _gone.append, filename)
    return Compiled(source, code)
