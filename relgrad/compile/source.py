"""A program as readable NumPy source: one function that can be pasted into another project."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np

from relgrad.calculus.mended import Mended
from relgrad.compile.callables import Callables
from relgrad.compile.layout import indent, wrap
from relgrad.compile.lines import Lines
from relgrad.compile.literals import array
from relgrad.compile.operands import is_ufunc
from relgrad.compile.returns import Returns
from relgrad.compile.reuse import Ownership, plan
from relgrad.errors import OpError
from relgrad.leaf import Input
from relgrad.op import Constant, Project
from relgrad.ops.structure import Squeeze
from relgrad.syntax import Names
from relgrad.term import Term, subterms
from relgrad.trace.containers import Structure
from relgrad.types import ArrayType, TupleType

WIDE = 50
"""So many tests are joined without parentheses."""
_WORD = re.compile(r"[^\W\d]\w*")
_NAME = re.compile(r"(?<![\w.'\"])[^\W\d]\w*")
"""Words that name something by themselves: no attributes, and no keys."""
_PARAMETER = re.compile(r"(\**)([^\W\d]\w*)")


@dataclass(frozen=True)
class Source:
    """The text of a compiled program; `str` of it runs by itself."""

    name: str
    imports: tuple[str, ...]
    constants: Mapping[str, np.ndarray]
    definitions: tuple[str, ...]
    function: str
    objects: Mapping[str, Any] = field(default_factory=dict, repr=False)
    outside: Mapping[Term, str] = field(default_factory=dict, repr=False)
    """Which constants stand for inputs that are no arguments."""
    before: tuple[str, ...] = ()
    """The functions that this one needs, in the order in which they stand before it."""
    guards: tuple[Term, ...] = ()
    """The tests whose disjunction is returned besides the result."""

    @cached_property
    def text(self) -> str:
        """Imports, constants and the function."""
        constants = [f"{name} = {array(value)}" for name, value in self.constants.items()]
        packed = any("base64" in text for text in constants)
        parts = [
            "\n".join(["import base64\n"] * packed + [wrap(line) for line in self.imports]),
            *self.definitions,
        ]
        if constants:
            parts.append("\n".join(wrap(text) for text in constants))
        return "\n\n".join(parts) + "\n\n\n" + "\n\n".join((*self.before, self.function))

    @property
    def reserved(self) -> dict[str, Term | None]:
        """The names that mean something else in a text in which the program stands, or inputs that are no arguments."""
        taken: dict[str, Term | None] = dict.fromkeys((self.name, *self.constants, *self.objects))
        return taken | {word: node for node, word in self.outside.items()}

    def decorated(self, decorator: str, by: str, companions: Sequence[Source]) -> Source:
        """f, "@precise(by=g)", g → "g …  @precise(by=g) f …": the function under a kernel, after its companions."""
        every: list[Source] = [self]
        for p in companions:
            every.append(p.beside({name: value for q in every for name, value in q.constants.items()}))
        companions = every[1:]
        return replace(
            self,
            imports=_merged(decorator, [line for p in every for line in p.imports]),
            constants={name: value for p in every for name, value in p.constants.items()},
            definitions=tuple(dict.fromkeys([d for p in every for d in p.definitions])),
            function=f"{by}\n{self.function}",
            before=(*[text for p in companions for text in (*p.before, p.function)], *self.before),
        )

    def beside(self, taken: Mapping[str, np.ndarray]) -> Source:
        """c1 = 3, beside c1 = 2 → c2 = 3: the program with other names for constants whose names are taken."""
        others = [
            name for name, value in self.constants.items() if not _is_same(taken.get(name, value), value)
        ]
        if not others:
            return self
        words = {*taken, *self.constants, *_WORD.findall(" ".join((self.function, *self.before)))}
        free = (word for i in count(1) if (word := f"c{i}") not in words)
        new = dict(zip(others, free, strict=False))
        renamed = lambda text: _NAME.sub(lambda found: new.get(found[0], found[0]), text)
        return replace(
            self,
            constants={new.get(name, name): value for name, value in self.constants.items()},
            function=renamed(self.function),
            before=tuple(map(renamed, self.before)),
        )

    def __str__(self) -> str:
        return self.text


def _is_same(x: np.ndarray, y: np.ndarray) -> bool:
    x, y = np.asarray(x), np.asarray(y)
    return x is y or (x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes())


def _merged(kernel: str, imports: Sequence[str]) -> tuple[str, ...]:
    """ "from relgrad.kernels import near", precise → "… import near, precise": import lines with one for kernels."""
    start = "from relgrad.kernels import "
    kernels, others = {kernel}, []
    for line in imports:
        if line.startswith(start):
            kernels.update(line.removeprefix(start).strip("()").split(", "))
        else:
            others.append(line)
    listed = ", ".join(sorted(kernels))
    return (*dict.fromkeys(others), start + (listed if len(listed) < 70 else f"({listed})"))


def write_source(
    name: str,
    parameters: Sequence[str],
    inputs: Mapping[Term, str],
    roots: Sequence[Term],
    results: Structure | Callable[[Sequence[str]], str] | None = None,
    *,
    imports: Sequence[str] = (),
    reuse: bool = True,
    extended: bool = False,
    guards: Sequence[Term] = (),
    decisions: Sequence[Term] | None = None,
    outside: Mapping[Term, Any] | None = None,
    reserved: Mapping[str, Term | None] | None = None,
) -> Source:
    """x, [x·2 + 1] → "def f(x): return x * 2.0 + 1.0": the source of a function that computes the roots.

    `parameters` are the parts of its signature (`x`, `*`, `n=3`, `**options`); `inputs` says for each input
    how the argument is reached from them (`params['W']`); `results` is the structure of the result, or makes
    the returned expression from the texts of the roots; by default it is the one root or a tuple. `imports`
    are lines that `results` or the signature need. Arguments of rank 0 become NumPy
    values of the traced dtype first. An `extended` function is computed again in extended range where it leaves
    that of floats. With `guards`, whether one of them is true is returned besides; with `decisions`, these are.
    Inputs in `outside` are constants of the text, and not of the program: they have these values.
    `reserved` names stand for something else where the text will stand, or for these inputs.

    No argument is written to, and no result shares memory with an argument, a constant, or another result.
    """
    beside = [*guards, *(decisions or ())]
    roots = [*beside, *roots]
    nodes = list(subterms(*roots))
    wanted = {kernel for node in nodes for kernel in node.op.imports}
    kernels = sorted(wanted | {"extended_range"} if extended else wanted)
    imported = [word for line in imports for word in _WORD.findall(line)]
    name = Names([*kernels, *imported]).take(name)
    names = Names([*kernels, *imported])
    returns = Returns(names)
    write = returns.prepare(results) if isinstance(results, Structure) else results or _tuple
    signature, renamed = _signature(parameters, names)
    for taken in (name, *(reserved or {})):
        names.reserve(taken)
    live = set(nodes)
    head: list[str] = []
    variables: dict[Term, str] = {}
    for node, path in inputs.items():
        if node in live:
            variables[node] = _unpack(node, _rename(path, renamed), names, head)
    words = {node: word for word, node in (reserved or {}).items() if node is not None}
    held = {node: words.get(node) or names.take(node.op.label) for node in outside or {} if node in live}
    variables.update(held)
    callables = Callables(names)
    lines = Lines(roots, variables, names, callables)
    ownership = Ownership(lines, roots)
    if reuse:
        plan(lines, ownership, roots)
    body = list(head)
    for first, *inside in (text for _, text in lines.formulas.values()):
        body += [first, *[wrap(f"    {line}", 8) for line in inside]]
    for line in lines.lines:
        body.append(f"{', '.join(line.targets)} = {line.expression().text}")
        if line.dead:
            body.append(f"del {', '.join(line.dead)}")
    texts = _results(lines, ownership, roots)
    tests, value = texts[: len(beside)], write(texts[len(beside) :])
    if beside or decisions is not None:
        value = f"({value})" if value[0] != "(" and ", " in value else value
        value += ", " + (_any(tests) if decisions is None else f"[{', '.join(tests)}]")
    body.append(f"return {value}")
    text = (
        wrap(f"def {name}({', '.join(signature)}):") + "\n" + indent([wrap(line, 4) for line in body]) + "\n"
    )
    if any(isinstance(node.op, Mended) for node in nodes):
        # A formula is computed beside its series, and may be 0/0 where that stands for it.
        text = f'@np.errstate(divide="ignore", invalid="ignore")\n{text}'
    if extended:
        text = f"@extended_range\n{text}"
    top = ["import numpy as np", *imports, *returns.imports, *callables.imports]
    if kernels:
        listed = ", ".join(kernels)
        top.append(f"from relgrad.kernels import {listed if len(listed) < 70 else f'({listed})'}")
    return Source(
        name,
        tuple(dict.fromkeys(top)),
        {**lines.constants, **{word: np.asarray((outside or {})[node])[()] for node, word in held.items()}},
        (*returns.definitions, *callables.definitions),
        text,
        {**returns.objects, **callables.objects},
        held,
        guards=tuple(guards),
    )


def _tuple(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def _signature(parameters: Sequence[str], names: Names) -> tuple[list[str], dict[str, str]]:
    """[np, *xs] → [np_1, *xs], {np: np_1}: parameters, renamed where they would hide NumPy or a kernel, and changes."""
    signature, renamed = [], {}
    for parameter in parameters:
        match = _PARAMETER.match(parameter)
        if match is None:
            signature.append(parameter)
            continue
        stars, word = match.groups()
        new = names.take_parameter(word)
        if new != word:
            renamed[word] = new
        signature.append(stars + new + parameter[match.end() :])
    return signature, renamed


def _rename(path: str, renamed: Mapping[str, str]) -> str:
    match = _WORD.match(path)
    if match is None:
        return path
    return renamed.get(match.group(), match.group()) + path[match.end() :]


def _unpack(node: Term, path: str, names: Names, head: list[str]) -> str:
    """params['W'] → "W = params['W']": the line that gives an argument its own name and type; and the name."""
    name = path
    if not path.isidentifier():
        words = re.findall(r"\w+", path)
        wishes = ["_".join(words[i:]) for i in range(len(words) - 1, -1, -1) if _WORD.fullmatch(words[i])]
        name = names.take(*wishes[:3]) if wishes else names.take("x")
    kind: ArrayType = node.type
    if kind.ndim == 0:
        path = f"np.{kind.dtype.name if kind.dtype.kind != 'b' else 'bool_'}({path})"
    if path != name:
        head.append(f"{name} = {path}")
    return name


def _any(tests: Sequence[str]) -> str:
    """(a | b | …) | (k | l | …): the disjunction of tests, in groups, since CPython's parser recurses on a | b | c | ….

    >>> _any(["a", "b"])
    'a | b'
    """
    while len(tests) > WIDE:
        tests = [f"({' | '.join(tests[i : i + WIDE])})" for i in range(0, len(tests), WIDE)]
    return " | ".join(tests)


def _results(lines: Lines, ownership: Ownership, roots: Sequence[Term]) -> list[str]:
    """x → np.array(x), a root twice → x.copy(): the roots' texts, copied where they would be shared or read-only."""
    taken: set[Term] = set()
    texts = []
    for root in roots:
        expr, kind = lines.refer(root), root.type
        if isinstance(kind, TupleType):
            texts.append(expr.text)
            continue
        if not isinstance(kind, ArrayType):
            raise OpError(f"{root.op} is no array and cannot be a result")
        owners = ownership.of(root)
        text = expr.text
        literal = _literal(root)
        if literal:
            text = literal
            lines.forget(root)
        elif kind.ndim == 0:
            if not _is_numpy_scalar(root, lines):
                text = f"np.{kind.dtype.name if kind.dtype.kind != 'b' else 'bool_'}({text})"
        elif type(root.op) is Input:
            text = f"np.array({text})"
        elif owners & taken or not ownership.private(root):
            text = f"{expr.within(14)}.copy()"
        taken |= owners
        texts.append(text)
    return texts


def _literal(root: Term) -> str:
    """0.0 → np.zeros(…): the text of a constant that is quickly made anew, or nothing."""
    if type(root.op) is not Constant or root.op.value.nbytes > 1 << 16:
        return ""
    text = array(root.op.value)
    return text if len(text) <= 40 else ""


def _is_numpy_scalar(root: Term, lines: Lines) -> bool:
    """Whether NumPy returns a scalar for a result of rank 0 by itself: np.sum(x), x + y: yes; a kernel's: not known."""
    whole = lines.templates.get(root)
    if isinstance(root.op, Squeeze) and whole is not None:
        return whole.head == "Subscript" or whole.head.startswith("np.")
    if type(root.op) is Project:
        return lines.templates[root.rands[0]].head.startswith("np.linalg.")
    return is_ufunc(root) or type(root.op) is Input or getattr(root.op, "numpy_scalar", False)
