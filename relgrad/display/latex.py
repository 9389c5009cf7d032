r"""Terms in LaTeX: their NumPy is read as mathematics, so that an op that says how it is written says it once.

`exp(x) / (1 + exp(x))` is \frac{e^{x}}{1 + e^{x}}. Functions that mathematics writes otherwise have a row in `_CALLS`;
all others are operators with their names. What has a name in the text has the same one here. Symbols stand upright
where logic variables, which are italic, stand beside them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from relgrad.display.brief import APPLICATIONS, OPERANDS, Brief, cut_of, flows, roots_of
from relgrad.display.mathml import GREEK
from relgrad.leaf import Input
from relgrad.looks import shortened
from relgrad.op import Constant
from relgrad.ops.reduction import Reduction
from relgrad.ops.structure import Expand, Squeeze
from relgrad.syntax import ANY, ATOM, BIT_OR, COMPARE, POWER, PRODUCT, SUM, UNARY, slots
from relgrad.term import Term, is_term
from relgrad.types import ArrayType

WIDTH = 90
"""A line is about as wide as so many letters."""
_LARGE_SIGN = SUM + 0.5
"""How tightly the sum over a product binds: its operand ends with the product."""
_EXPONENT = 60
"""An exponential whose exponent takes more signs is written with exp."""


_ROW = r"\\&"
_COMMA, _TIMES = r",\, ", r" \times "


class Formula(NamedTuple):
    r"""\frac{a}{b}, UNARY, tall: mathematics in LaTeX, how tightly it binds, and whether it is higher than a line."""

    text: str
    binding: float = ATOM
    tall: bool = False

    def within(self, required: float) -> str:
        """a + b in a product → (a + b): the text, in parentheses where it binds less tightly than required."""
        return self.text if self.binding >= required else _enclosed("(", self, ")")


def formula(terms: Any, width: int = WIDTH, limit: int = APPLICATIONS) -> str:
    r"""Return a term, a pattern or a symbolic array in LaTeX, or several, without dollars.

    >>> from relgrad.leaf import Input
    >>> from relgrad.term import term
    >>> from relgrad.types import array_type
    >>> formula(term(Input("x_1", array_type(float))))
    'x_{1}'

    Shared parts have names, defined below; of what is longer than `limit` applications the rest is dots, and said.
    """
    return stacked(*formulas(terms, width, limit))


def formulas(terms: Any, width: int = WIDTH, limit: int = APPLICATIONS) -> tuple[list[str], list[str], str]:
    """[exp(x), 2] → ["e^{x}", "2"], [], "": formulas, definitions of their names, and a remark on the rest."""
    roots = roots_of(terms)
    written = _Written(Brief(roots, width, limit))
    lines = [written.operand(root).text for root in roots]
    return lines, written.definitions(), cut_of(roots, limit)


def stacked(lines: Sequence[str], definitions: Sequence[str], cut: str = "") -> str:
    r"""Return lines of mathematics below one another, definitions after "where".

    >>> stacked(["a", "b"], [])
    '\\begin{aligned}&a\\\\&b\\end{aligned}'
    """
    rows = [
        *lines,
        *[(r"\quad " if i else r"\text{where }\ ") + line for i, line in enumerate(definitions)],
        *([worded(f"({cut})")] if cut else []),
    ]
    if len(rows) == 1:
        return rows[0]
    return rf"\begin{{aligned}}&{_ROW.join(rows)}\end{{aligned}}"


def symbol(name: str, upright: bool = False) -> str:
    r"""Return a name in LaTeX, whatever signs it is made of; what follows an underscore, and numbers, stand below.

    >>> symbol("x"), symbol("alpha_2"), symbol("cost"), symbol("50%")
    ('x', '\\alpha_{2}', '\\mathit{cost}', '\\mathit{50\\%}')
    """
    match = re.fullmatch(r"([^\W\d_]+)_?(\d+)", name) or re.fullmatch(r"([^\W\d_]+)_(\w+)", name)
    stem, below = match.groups() if match else (name, "")
    if stem in GREEK:
        stem = f"\\{stem}"
    elif upright or len(stem) != 1:
        stem = rf"\mathrm{{{escaped(stem)}}}" if upright else rf"\mathit{{{escaped(stem)}}}"
    else:
        stem = escaped(stem)
    if len(below) > 1 and not below.isdigit():
        below = rf"\mathrm{{{escaped(below)}}}"
    return f"{stem}_{{{below}}}" if below else stem


# A sign that would open a tag, or an entity, where LaTeX is put into HTML as it is, is never followed by a letter.
_SPECIAL = {c: f"\\{c}" for c in "_%#$"} | {
    "{": r"\lbrace{}",
    "}": r"\rbrace{}",
    "&": r"\&{}",
    "\\": r"\backslash{}",
    "~": r"{\sim}",
    "^": r"{\wedge}",
    "<": "{<}",
    ">": "{>}",
    " ": r"\ ",
    "'": r"{\prime}",
    "`": r"{\backprime}",
    "-": r"\text{-}",
}


def escaped(name: str, longest: int = 40) -> str:
    r"""Return a name for mathematics, whose signs LaTeX takes as they are; a very long one is cut.

    >>> escaped("a_b")
    'a\\_b'
    """
    printed = [_SPECIAL.get(c, c if c.isprintable() else r"\ ") for c in shortened(name, longest)]
    return "".join(printed).replace("…", r"\dots{}")


def worded(sentence: str) -> str:
    r"""Return words upright within mathematics; \text would take few signs by a backslash in MathJax.

    >>> worded("log_softmax of x")
    '\\mathrm{log\\_softmax\\ of\\ x}'
    """
    return rf"\mathrm{{{escaped(sentence, 200)}}}"


class _Written:
    r"""exp(x)/t1, t1 = … → \frac{e^{x}}{t_{1}}: the terms of a picture, under the names that it gives."""

    def __init__(self, picture: Brief):
        self._picture = picture
        self._names: dict[str, str] = {}
        self._formulas: dict[Any, Formula] = {}
        for node in picture.order:
            name = picture.names.get(node)
            self._formulas[node] = self._symbol(name) if name else self._definition(node)

    def definitions(self) -> list[str]:
        """→ ["t_{1} = e^{x}"]: the definition of each name, in the order in which they come up."""
        return [
            f"{self._formulas[node].text} = {self._definition(node).text}" for node in self._picture.named
        ]

    def _symbol(self, name: str, upright: bool = False) -> Formula:
        r"""x1 → x_{1}, and then x_1 → \mathit{x\_1}: of names with one symbol only the first has it."""
        written = symbol(name, upright)
        if self._names.setdefault(written, name) != name:
            written = rf"\mathit{{{escaped(name)}}}"
        return Formula(written)

    def operand(self, part: Any) -> Formula:
        r"""x → x, t1 → t_{1}, too deep → \dots: an operand: a variable, a name, the formula of a term, or dots."""
        if not is_term(part):
            return self._symbol(self._picture.label(part))
        return self._formulas.get(part) or Formula(r"\dots ")

    def _definition(self, node: Term) -> Formula:
        op = node.op
        if type(op) is Constant:
            return _constant(op.value)
        if not node.rands:
            return self._symbol(str(op), upright=self._picture.has_variables and type(op) is Input)
        if isinstance(op, (Squeeze, Expand)) and self._picture.fused(node) is node:
            # Axes of extent 1 are how arrays are laid out, and no mathematics.
            return self.operand(node.rands[0])
        found = flows(node)
        if found is not None:
            return _sum([self._flow(*flow) for flow in found])
        operands = [self.operand(x) for x in self._picture.fused(node).rands[:OPERANDS]]
        if len(node.rands) > OPERANDS:
            return _applied(op.name, [*operands, Formula(rf"\dots \text{{{len(node.rands)} operands}}")])
        try:
            tree = _read(self._picture.template(node))
        except (SyntaxError, RecursionError):  # the source of a stranger's op
            return _applied(op.name, operands)
        return _Reading(operands, self._is_over_everything(node)).of(tree)

    def _is_over_everything(self, node: Term) -> bool:
        reduction = self._picture.fused(node)
        kind: Any = reduction.rands[0].type if is_term(reduction.rands[0]) else None
        axes = getattr(reduction.op, "axes", None)
        total = isinstance(reduction.op, Reduction) and isinstance(kind, ArrayType)
        return total and axes == tuple(range(-kind.ndim, 0))

    def _flow(self, value: Any, by: Any, factor: Any) -> Formula:
        inner = _enclosed("[", self.operand(value), "]", always_large=True)
        shell = Formula(
            rf"\frac{{\partial}}{{\partial {self.operand(by).within(ATOM)}}}{inner}", PRODUCT, True
        )
        if factor is None:
            return shell
        return Formula(rf"{self.operand(factor).within(PRODUCT)}\,{shell.text}", PRODUCT, True)


@lru_cache(maxsize=4096)
def _read(template: str) -> ast.expr:
    return ast.parse(template, mode="eval").body


def _enclosed(left: str, inner: Formula, right: str, always_large: bool = False) -> str:
    if inner.tall or always_large:
        return rf"\left{left}{inner.text}\right{right}"
    return f"{left}{inner.text}{right}"


def _sum(parts: Sequence[Formula]) -> Formula:
    if len(parts) == 1:
        return parts[0]
    return Formula(" + ".join([p.within(PRODUCT) for p in parts]), SUM, any(p.tall for p in parts))


def _applied(name: str, operands: Sequence[Formula], below: str = "") -> Formula:
    known = rf"\{name}" if name in _FUNCTIONS else rf"\operatorname{{{escaped(name)}}}"
    inner = Formula(_COMMA.join([x.text for x in operands]), ANY, any(x.tall for x in operands))
    return Formula(f"{known}{_under(below)}{_enclosed('(', inner, ')')}", ATOM, inner.tall)


def _under(below: str) -> str:
    return f"_{{{below}}}" if below else ""


def _constant(value: Any) -> Formula:
    if value.ndim == 0:
        return _number(value.item())
    if value.size <= 6:
        return Formula(_entries(value.tolist()))
    return Formula(rf"\operatorname{{array}}_{{{_TIMES.join(map(str, value.shape))}}}")


def _entries(values: Any) -> str:
    if not isinstance(values, list):
        return _number(values).text
    return f"[{_COMMA.join([_entries(x) for x in values])}]"


_ODD = {"nan": Formula(r"\mathrm{NaN}"), "inf": Formula(r"\infty"), "-inf": Formula(r"-\infty", UNARY)}


def _number(value: Any) -> Formula:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return Formula(worded(str(value)))
    digits = repr(value)
    if digits in _ODD:
        return _ODD[digits]
    # 1.0 is 1 in mathematics, and -0.0 is 0.
    mantissa, _, exponent = digits.removesuffix(".0").partition("e")
    if digits == "-0.0":
        mantissa = "0"
    if not exponent:
        return Formula(mantissa, UNARY if mantissa.startswith("-") else ATOM)
    power = f"10^{{{int(exponent)}}}"
    scaled = {"1": power, "-1": f"-{power}"}.get(mantissa, rf"{mantissa} \cdot {power}")
    return Formula(scaled, UNARY if mantissa == "-1" else POWER if mantissa == "1" else PRODUCT)


_SIGNS: dict[type[ast.AST], tuple[str, int]] = {
    ast.Add: (" + ", SUM),
    ast.Sub: (" - ", SUM),
    ast.Mult: (r"\,", PRODUCT),
    ast.MatMult: (r"\,", PRODUCT),
    ast.Mod: (r" \bmod ", PRODUCT),
    ast.BitOr: (r" \lor ", BIT_OR),
    ast.BitXor: (r" \oplus ", BIT_OR + 1),
    ast.BitAnd: (r" \land ", BIT_OR + 2),
    ast.LShift: (r" \ll ", BIT_OR + 3),
    ast.RShift: (r" \gg ", BIT_OR + 3),
    ast.Eq: (" = ", COMPARE),
    ast.NotEq: (r" \ne ", COMPARE),
    ast.Lt: (" < ", COMPARE),
    ast.LtE: (r" \le ", COMPARE),
    ast.Gt: (" > ", COMPARE),
    ast.GtE: (r" \ge ", COMPARE),
}


class _Reading:
    r""" "np.exp(_slot0_)/2" over x → \frac{e^{x}}{2}: a template, as deep as an op is intricate."""

    def __init__(self, operands: Sequence[Formula], whole: bool = False):
        self._operands = dict(zip(slots(len(operands)), operands, strict=True))
        self._whole = whole
        """Whether a reduction is over all entries, so that its axes need not be told."""

    def of(self, node: ast.AST) -> Formula:
        """ast of a + b → a + b: the mathematics of a part of the template."""
        match node:
            case ast.Name(id=name):
                return self._operands.get(name) or Formula(worded(name))
            case ast.Constant(value=value):
                return _number(value)
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(self.of(left), type(op), self.of(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                x = self.of(operand)
                return Formula(f"-{x.within(PRODUCT)}", UNARY, x.tall)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.of(operand)
            case ast.UnaryOp(operand=operand):
                x = self.of(operand)
                return Formula(rf"\lnot {x.within(UNARY)}", UNARY, x.tall)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self._binary(self.of(left), type(op), self.of(right))
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords):
                return self._call(name, [*map(self.of, arguments)], keywords)
            case ast.Subscript(value=value, slice=index):
                # In braces: what is indexed may have an index already.
                return Formula(f"{{{self.of(value).within(ATOM)}}}_{{{self._index(index)}}}")
            case ast.Attribute(value=value, attr="T"):
                return Formula(rf"{self.of(value).within(ATOM)}^{{\mathsf{{T}}}}", POWER)
            case ast.List(elts=parts):
                return Formula(f"[{_COMMA.join([self.of(x).text for x in parts])}]")
            case ast.Tuple(elts=parts):
                return Formula(f"({_COMMA.join([self.of(x).text for x in parts])})")
        # Other syntax is Python rather than mathematics.
        return Formula(worded(ast.unparse(node)))

    def _index(self, index: ast.AST) -> str:
        text = re.sub(r"_slot(\d+)_", lambda m: f"\ue000{m[1]}\ue000", ast.unparse(index))
        pieces = text.split("\ue000")
        written = [
            self._operands[slots(int(piece) + 1)[-1]].text
            if i % 2
            else escaped(piece.strip("()"), 200).replace(r"\text{-}", "-")
            for i, piece in enumerate(pieces)
        ]
        return "".join(written)

    def _binary(self, left: Formula, op: type[ast.AST], right: Formula) -> Formula:
        tall = left.tall or right.tall
        if op is ast.Div:
            return Formula(rf"\frac{{{left.text}}}{{{right.text}}}", UNARY, True)
        if op is ast.Pow:
            return Formula(f"{left.within(ATOM)}^{{{right.text}}}", POWER, left.tall)
        if op is ast.FloorDiv:
            return Formula(rf"\left\lfloor \frac{{{left.text}}}{{{right.text}}} \right\rfloor", ATOM, True)
        sign, binding = _SIGNS[op]
        if op is ast.Add and right.text.startswith("-"):
            return Formula(f"{left.within(SUM)} - {right.text[1:]}", SUM, tall)
        second = right.within(binding + (op not in (ast.Add, ast.Mult, ast.MatMult)))
        if right.text.startswith("-") and second == right.text:
            second = _enclosed("(", right, ")")
        # Two numbers side by side would read as one, and a name before parentheses as a function.
        closed = second.startswith(("(", r"\left(")) and not left.text[-1:].isdigit()
        if op in (ast.Mult, ast.MatMult) and (closed or second[:1].isdigit()):
            sign = r" \cdot "
        return Formula(f"{left.within(binding)}{sign}{second}", binding, tall)

    def _call(self, name: str, arguments: list[Formula], keywords: list[ast.keyword]) -> Formula:
        options = {word.arg or "": word.value for word in keywords if word.arg != "keepdims"}
        axis = options.pop("axis", None)
        below = "" if axis is None or self._whole else self._axes(axis)
        if not options and name in _CALLS and len(arguments) == _ARITIES.get(name, 1):
            return _CALLS[name](arguments, below)
        named = [Formula(rf"\mathrm{{{escaped(k)}}}{{=}}{self.of(v).text}") for k, v in options.items()]
        return _applied(_SHORT.get(name, name), [*arguments, *named], below)

    def _axes(self, axis: ast.AST) -> str:
        if isinstance(axis, ast.Name):
            return symbol(axis.id)
        return rf"\mathrm{{axis}}\ {self.of(axis).text}"


_FUNCTIONS = frozenset(
    re.findall(
        r"\w+",
        "log sin cos tan sinh cosh tanh arcsin arccos arctan exp max min det sec csc cot gcd arg Gamma",
    )
)
"""Functions that LaTeX has a sign for, under the names that NumPy gives them."""

_SHORT = {"maximum": "max", "minimum": "min", "gamma": "Gamma"}
_ARITIES = {"where": 3, "matmul": 2}
"""How many operands those have that are written otherwise and have not one."""
Call = Callable[[list[Formula], str], Formula]


def _between(left: str, right: str) -> Call:
    return lambda operands, below: Formula(
        rf"\left{left} {operands[0].text} \right{right}{_under(below)}", ATOM, operands[0].tall
    )


def _over(sign: str) -> Call:
    return lambda operands, below: Formula(
        rf"{sign}{_under(below)} {operands[0].within(PRODUCT)}", _LARGE_SIGN, True
    )


def _exponential(operands: list[Formula], below: str) -> Formula:
    (x,) = operands
    if x.tall or len(x.text) > _EXPONENT:
        return _applied("exp", operands)
    return Formula(f"e^{{{x.text}}}", POWER)


def _cases(operands: list[Formula], below: str) -> Formula:
    test, yes, no = [x.text for x in operands]
    rows = rf"{yes} & \text{{if }} {test}\\ {no} & \text{{otherwise}}"
    return Formula(rf"\begin{{cases}}{rows}\end{{cases}}", UNARY, True)


def _raised(power: str) -> Call:
    return lambda operands, below: Formula(f"{operands[0].within(ATOM)}^{{{power}}}", POWER, operands[0].tall)


_CALLS: dict[str, Call] = {
    "exp": _exponential,
    "exp2": lambda operands, below: Formula(f"2^{{{operands[0].text}}}", POWER),
    "sqrt": lambda operands, below: Formula(rf"\sqrt{{{operands[0].text}}}", ATOM, operands[0].tall),
    "cbrt": lambda operands, below: Formula(rf"\sqrt[3]{{{operands[0].text}}}", ATOM, operands[0].tall),
    "square": _raised("2"),
    "inv": _raised("-1"),
    "log2": lambda operands, below: _applied("log", operands, "2"),
    "log10": lambda operands, below: _applied("log", operands, "10"),
    "abs": _between("|", "|"),
    "norm": _between(r"\lVert", r"\rVert"),
    "floor": _between(r"\lfloor", r"\rfloor"),
    "ceil": _between(r"\lceil", r"\rceil"),
    "sum": _over(r"\sum"),
    "prod": _over(r"\prod"),
    "where": _cases,
    "matmul": lambda operands, below: Formula(
        rf"{operands[0].within(PRODUCT)}\,{operands[1].within(UNARY)}", PRODUCT, any(x.tall for x in operands)
    ),
    "transpose": lambda operands, below: Formula(rf"{operands[0].within(ATOM)}^{{\mathsf{{T}}}}", POWER),
}
"""What mathematics writes otherwise than as a function of operands, by the name that NumPy gives it."""
