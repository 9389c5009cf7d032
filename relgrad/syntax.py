"""How Python expressions nest: which operand of a template needs parentheses, and which never does.

A template is the text that an op gives for its result, such as `{} + {}` or `np.exp({})`, read once by
Python's own parser; filling it is then a matter of comparing numbers.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

ANY, COMPARE, BIT_OR, SUM, PRODUCT, UNARY, POWER, ATOM = 0, 4, 5, 9, 10, 11, 12, 14
"""How tightly an expression binds, after the table in the Python reference, section 6.17."""

_TUPLE, _TEST = -1, 1
_OPERATORS: dict[type[ast.AST], int] = {
    ast.BitOr: BIT_OR,
    ast.BitXor: 6,
    ast.BitAnd: 7,
    ast.LShift: 8,
    ast.RShift: 8,
    ast.Add: SUM,
    ast.Sub: SUM,
    ast.Mult: PRODUCT,
    ast.Div: PRODUCT,
    ast.FloorDiv: PRODUCT,
    ast.Mod: PRODUCT,
    ast.MatMult: PRODUCT,
    ast.Pow: POWER,
}
_SLOT = re.compile(r"_slot(\d+)_")


class Expr(NamedTuple):
    """(a + b, SUM).within(PRODUCT) → "(a + b)": the text of an expression and how tightly it binds."""

    text: str
    binding: int = ATOM

    def within(self, required: int) -> str:
        """Return the text, in parentheses where it binds less tightly than required."""
        return self.text if self.binding >= required else f"({self.text})"


def slots(count: int) -> list[str]:
    """Return the names that stand for the operands in a template."""
    return [f"_slot{i}_" for i in range(count)]


@dataclass(frozen=True, slots=True)
class Template:
    """{} * {} → pieces ("", " * ", ""), holes ((0, 10), (1, 11)): an expression with holes.

    Its pieces of text, and each hole's operand and required binding.
    """

    pieces: tuple[str, ...]
    holes: tuple[tuple[int, int], ...]
    binding: int
    head: str
    """What the root is: the name that is called, the class of the syntax node, or "" for a bare operand."""

    def fill(self, operands: Sequence[Expr]) -> Expr:
        """Return the expression with the operands put in, parenthesised where they must be.

        >>> template("_slot0_ * _slot1_").fill([Expr("a + b", SUM), Expr("c")]).text
        '(a + b) * c'
        """
        if not self.head:
            return operands[self.holes[0][0]]
        parts = [self.pieces[0]]
        for (index, required), piece in zip(self.holes, self.pieces[1:], strict=True):
            parts += (operands[index].within(required), piece)
        return Expr("".join(parts), self.binding)

    def count(self, index: int) -> int:
        """How often an operand occurs."""
        return sum(i == index for i, _ in self.holes)


@lru_cache(maxsize=8192)
def template(text: str) -> Template:
    """_slot0_ * _slot1_ → ("", " * ", ""), holes ((0, 10), (1, 11)):
    the template of a text with `slots(n)` for operands.
    """
    root = ast.parse(text, mode="eval").body
    required: dict[int, int] = {}
    for parent in ast.walk(root):
        for child, binding in _requirements(parent):
            if isinstance(child, ast.Name) and _SLOT.fullmatch(child.id):
                required[child.col_offset] = binding
    pieces, holes, end = [], [], 0
    for match in _SLOT.finditer(text):
        # Offsets of the parser count bytes.
        offset = len(text[: match.start()].encode())
        binding = required.get(offset, ATOM)
        if text[: match.start()].endswith("(") and text[match.end() :].startswith(")"):
            binding = ANY
        pieces.append(text[end : match.start()])
        holes.append((int(match.group(1)), binding))
        end = match.end()
    if isinstance(root, ast.Name) and _SLOT.fullmatch(root.id):
        return Template(("", ""), tuple(holes), ATOM, "")
    wrapped = root.col_offset > 0 and text[: root.col_offset].strip() == "(" * root.col_offset
    return Template(
        (*pieces, text[end:]), tuple(holes), ATOM if wrapped else _binding(root, text), _head(root)
    )


def _head(root: ast.expr) -> str:
    return ast.unparse(root.func) if isinstance(root, ast.Call) else type(root).__name__


def _binding(node: ast.expr, text: str) -> int:
    """a + b → SUM, f(a) → ATOM, −a → UNARY: how tightly a syntax node binds."""
    match node:
        case ast.BinOp(op=op):
            return _OPERATORS[type(op)]
        case ast.UnaryOp(op=ast.Not()):
            return 3
        case ast.UnaryOp():
            return UNARY
        case ast.Compare():
            return COMPARE
        case ast.BoolOp(op=ast.And()):
            return 2
        case ast.BoolOp() | ast.IfExp() | ast.Lambda():
            return _TEST
        case ast.Tuple():
            return ATOM if text.endswith(")") and text.startswith("(") else _TUPLE
        case ast.Constant(value=int() | float()):
            return ATOM - 1
    return ATOM


def _requirements(parent: ast.AST) -> Iterable[tuple[ast.AST, int]]:
    """a + b → (a, SUM), (b, SUM + 1): the children of a syntax node with the binding that their place requires."""
    match parent:
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            yield left, ATOM - 1
            yield right, UNARY
        case ast.BinOp(left=left, op=op, right=right):
            yield left, _OPERATORS[type(op)]
            yield right, _OPERATORS[type(op)] + 1
        case ast.UnaryOp(operand=operand):
            yield operand, UNARY
        case ast.Compare(left=left, comparators=comparators):
            for child in (left, *comparators):
                yield child, BIT_OR
        case ast.Call(func=func, args=args, keywords=keywords):
            yield func, ATOM
            for child in args:
                yield child, ANY
            for word in keywords:
                yield word.value, ANY
        case ast.Subscript(value=value, slice=index):
            yield value, ATOM
            yield index, ANY
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            for child in elements:
                yield child, ANY
        case ast.Slice(lower=lower, upper=upper, step=step):
            for child in (lower, upper, step):
                if child is not None:
                    yield child, _TEST


_RESERVED = frozenset((*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "np", "base64", "self"))


class Names:
    """take("x"), take("x") → x, x2: hands out names that are valid Python, tell something, and are given out once."""

    def __init__(self, taken: Iterable[str] = ()):
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def reserve(self, name: str) -> None:
        """Keep a name from being given out."""
        self._taken.add(name)

    def take_parameter(self, word: str) -> str:
        """Return a parameter's own name, which may hide a builtin, unless generated code needs it."""
        name = word if word not in self._taken and word not in ("np", "base64") else self.take(f"{word}_arg")
        self._taken.add(name)
        return name

    def take(self, *wishes: str, numbered: bool = False) -> str:
        """(x,) → "x", then "x2": the first wish that is free, or the last with a number; `numbered` always adds one."""
        wishes = tuple(tidy(wish) for wish in wishes) or ("v",)
        for wish in wishes:
            if not numbered and wish not in self._taken and wish not in _RESERVED:
                self._taken.add(wish)
                return wish
        stem = wishes[-1] + "_" * (wishes[-1][-1].isdigit() or len(wishes[-1]) > 1)
        number = self._next.get(stem, 1 if numbered or wishes[-1] in _RESERVED else 2)
        while (name := f"{stem}{number}") in self._taken:
            number += 1
        self._next[stem] = number + 1
        self._taken.add(name)
        return name


def tidy(wish: str) -> str:
    """Return the nearest valid identifier.

    >>> tidy("log-sum 2"), tidy("2x"), tidy("")
    ('log_sum_2', 'v2x', 'v')
    """
    # Python compares identifiers in this normal form.
    letters = unicodedata.normalize("NFKC", wish)
    name = "".join(letter if ("v" + letter).isidentifier() else "_" for letter in letters)
    name = re.sub(r"__+", "_", name).strip("_") or "v"
    return name if name.isidentifier() else f"v{name}"
