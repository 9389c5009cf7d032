r"""Mathematics in pages: LaTeX read as MathML, which browsers render without a script.

\frac{a}{b} ⟶ <mfrac>a b</mfrac>, with a sign between that is not displayed: where elements are stripped, a/b is left.
Roots are a sign and a line above: without a font for mathematics browsers leave out the sign of <msqrt>.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from relgrad.display.page import Markup, element

_GREEK = """
alpha α beta β gamma γ delta δ epsilon ϵ zeta ζ eta η theta θ iota ι kappa κ lambda λ mu μ nu ν xi ξ pi π rho ρ sigma σ
tau τ upsilon υ phi ϕ chi χ psi ψ omega ω Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ Upsilon Υ Phi Φ Psi Ψ
Omega Ω
"""
_SIGNS = r"""
cdot ⋅ times × bmod mod lor ∨ land ∧ lnot ¬ oplus ⊕ ll ≪ gg ≫ ne ≠ le ≤ ge ≥ in ∈ equiv ≡ sum ∑ prod ∏ int ∫ dots …
lfloor ⌊ rfloor ⌋ lceil ⌈ rceil ⌉ lVert ‖ rVert ‖ lbrace { rbrace } backslash \ sim ∼ wedge ∧ prime ′ backprime ‵
- − ' ′
"""
_LETTERS, _OPERATORS = (dict(re.findall(r"(\S+)\s(\S+)\s", some)) for some in (_GREEK, _SIGNS))
GREEK = frozenset(_LETTERS)
_LETTERS |= {"varepsilon": "ε", "ell": "ℓ", "infty": "∞", "partial": "∂", "emptyset": "∅"}
_SPACES = {r"\,": 0.17, r"\;": 0.28, r"\ ": 0.33, r"\quad": 1.0, r"\qquad": 2.0}
_WORDS = tuple(rf"\{kind}{{" for kind in ("operatorname", "mathrm", "mathit", "mathsf", "text"))
_ENCLOSING = set("()[]|")
_TOKEN = re.compile(
    r"\\(?:operatorname|math(?:rm|it|sf)|text|begin|end)\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"
    r"|\\[a-zA-Z]+|\\.|[0-9]+(?:\.[0-9]+)?|\S"
)
_WHOLE = "<mi", "<mn", "<mo", "<mt", "<ms", "<mu", "<mrow><mo>"


def mathml(latex: str, display: str | None = None) -> Markup:
    r"""Return a formula as an element of MathML, for the LaTeX that `latex` writes and its like.

    >>> mathml(r"x \ge 2")
    '<math displaystyle="true"><mi>x</mi><mo>≥</mo><mn>2</mn></math>'
    >>> re.sub("<[^>]*>", "", mathml(r"\frac{a + 1}{\sqrt{b}} = x^{2}\,y"))
    '(a+1)/√b=x^2⋅y'
    """
    return element("math", *_Reader(latex).until("")[0], display=display, displaystyle="true")


class _Reader:
    """a + b} → [a, +, b], "}": the elements of a formula, token by token."""

    def __init__(self, latex: str):
        self._tokens = _TOKEN.findall(latex)[::-1]

    def _take(self, *expected: str) -> str:
        """ "^", "^" → "^": the next token, if it is expected or nothing is; empty otherwise, and at the end."""
        fits = self._tokens and (not expected or self._tokens[-1] in expected)
        return self._tokens.pop() if fits else ""

    def until(self, *ends: str) -> tuple[list[Markup], str]:
        """a + b} and "}" → [a, +, b], "}": the elements before one of the ends, or of all, and the end."""
        parts: list[Markup] = []
        while (token := self._take()) and token not in ends:
            if token in _SPACES:
                product = token == r"\," and parts and "," not in parts[-1]
                parts += [_hidden("⋅")] * bool(product) + [element("mspace", width=f"{_SPACES[token]}em")]
            elif token == "-" and (not parts or re.match("<mspace|<mo[^>]*>[^])]", parts[-1])):
                parts.append(element("mo", "−", form="prefix"))
            elif token != r"\displaystyle":
                parts += self._scripted(self._atom(token))
        return parts, token

    def _argument(self) -> Markup:
        """{a + b} → <mrow>a + b</mrow>, x → <mi>x</mi>."""
        return _one(self._atom(self._take()))

    def _scripted(self, base: list[Markup]) -> list[Markup]:
        """∑_{i} → <munder>, x_{i} → <msub>, x^{2} → <msup>: a base with what stands below and above it."""
        large = base and base[0][4:5] in "∑∏"
        for sign, tag in (("_", "munder" if large else "msub"), ("^", "mover" if large else "msup")):
            if self._take(sign):
                base = [element(tag, _one(base), _hidden(sign), self._argument())]
                base += [_hidden("\u00a0")] * bool(large)
        return base

    def _atom(self, token: str) -> list[Markup]:
        """\\frac, a, b → [<mfrac>a b</mfrac>]: the elements of what begins with a token."""
        name = token.removeprefix("\\")
        match token:
            case "{":
                return self.until("}")[0]
            case r"\frac":
                return [element("mfrac", self._argument(), _hidden("/"), self._argument())]
            case r"\sqrt":
                sign = "∛" if self._take("[") and self.until("]") else "√"
                line = "border-top:.06em solid;padding-top:.1em"
                return [element("mrow", element("mo", sign), element("mrow", self._argument(), style=line))]
            case r"\left":
                left, (inner, _), right = self._take(), self.until(r"\right"), self._take()
                return [element("mrow", _sign(left), *inner, _sign(right))]
            case r"\begin{cases}":
                return [element("mrow", element("mo", "{"), self._table(token))]
            case r"\begin{aligned}":
                return [self._table(token, displaystyle="true")]
        if token.startswith(_WORDS):
            style = "font-style:italic" if token.startswith(r"\mathit") else None
            return [element("mi" if style else "mtext", _words(token), style=style)]
        if name in _OPERATORS or not name[0].isalnum():
            # Outside of \left … \right what encloses is as high as a line.
            return [_sign(token, stretchy="false" if name in _ENCLOSING else None)]
        if name.isdigit() or name[0].isdigit():
            return [element("mn", name)]
        function = token != name and name not in _LETTERS
        apart = function and self._tokens and self._tokens[-1] not in ("(", r"\left", "_", "^", "{")
        thin = [element("mspace", width="0.17em")] * bool(apart)
        return [element("mi", _LETTERS.get(name, name)), *thin]

    def _table(self, begin: str, **attributes: Any) -> Markup:
        """\\begin{cases}, a & b \\\\ … → <mtable>: rows up to the end."""
        rows: list[Markup] = []
        cells: list[Markup] = []
        ends = "&", r"\\", begin.replace("begin", "end")
        end = "&"
        while end in ends[:2]:
            parts, end = self.until(*ends)
            apart, last = [_hidden("\u00a0")] * bool(cells), [_hidden(";\u00a0")] * (end == r"\\")
            cells += [element("mtd", *apart, *parts, *last, style="text-align:left")] * bool(parts)
            if end != "&":
                rows.append(element("mtr", *cells))
                cells = []
        return element("mtable", *rows, **attributes)


def _words(token: str) -> str:
    r"""\mathrm{log\_softmax} → log_softmax: the argument of a command as text."""
    inner = re.sub(r"\\text|[{}]", "", token.partition("{")[2])
    return re.sub(r"\\([a-zA-Z]+|.)", lambda m: _OPERATORS.get(m[1], m[1]), inner).replace(" ", "\u00a0")


def _sign(token: str, **attributes: Any) -> Markup:
    name = token.removeprefix("\\")
    return element("mo", _OPERATORS.get(name, name), **attributes)


def _hidden(sign: str) -> Markup:
    """ "⋅" → <mo style="display:none">⋅</mo>: not displayed, and left where elements are stripped."""
    return element("mo", sign, style="display:none")


def _one(parts: Sequence[Markup]) -> Markup:
    """[a, +, b] → <mrow>(a + b)</mrow> with hidden parentheses; one element that stands for itself is left alone."""
    if len(parts) == 1 and parts[0].startswith(_WHOLE):
        return parts[0]
    return element("mrow", _hidden("("), *parts, _hidden(")"))
