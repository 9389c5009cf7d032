"""How terms, patterns and symbolic arrays show themselves."""

from __future__ import annotations

from typing import Any

from relgrad.display.brief import SHELL, Marks, applications, brief, painted, roots_of, unpainted
from relgrad.display.latex import formula
from relgrad.display.page import Markup, code, facts, framed, marked, note, shelled, text
from relgrad.looks import html, latex, plain
from relgrad.symbolic import Symbolic
from relgrad.term import Term, is_term
from relgrad.types import ArrayType, DisconnectedType, NullType, TupleType

IMPLICIT = "an implicit derivative: it is taken where and when that helps"


def coded(source: str) -> Markup:
    """Return a text with marks as code; implicit derivatives stand in shells.

    >>> coded("a < b")
    '<code>a &lt; b</code>'
    """
    return code(Markup(painted(source, text, _paint)))


def _paint(inner: str, n: int) -> str:
    return shelled(Markup(inner), IMPLICIT) if n == SHELL else marked(Markup(inner), n)


def in_type_words(kind: Any) -> str:
    """Return a type in words.

    >>> from relgrad.types import array_type
    >>> in_type_words(array_type("float32", (None, 3)))
    'float32 of shape (?, 3)'
    """
    match kind:
        case ArrayType(dtype=dtype, shape=shape):
            inner = ", ".join("?" if n is None else str(n) for n in shape)
            return f"{dtype} of shape ({inner}{',' * (len(shape) == 1)})" if shape else f"{dtype}, a number"
        case TupleType(outputs=outputs):
            head = ", ".join(map(in_type_words, outputs[:4]))
            return f"{len(outputs)} outputs: {head}{', …' * (len(outputs) > 4)}"
        case DisconnectedType():
            return "disconnected: a known zero"
        case NullType(why=why):
            return f"undefined: {why}"
    return "a pattern: it has logic variables"


def term_fragment(terms: Any, marks: Marks | None = None) -> Markup:
    """exp(x) → <code>exp(x)</code>: terms as code, with marks on parts, and a remark on the rest."""
    shown = brief(terms, marks=marks)
    return Markup(coded(shown.text) + (note(shown.cut) if shown.cut else ""))


@html.register
def _(x: Term) -> str:
    (root,) = roots_of(x)
    kind = root.type if is_term(root) else None
    operations = applications(root)
    counted = f"{operations:,} operation{'s' * (operations != 1)}"
    said = facts([("type", in_type_words(kind)), ("size", counted if operations else "")])
    return framed(Markup(term_fragment(x) + said), "term")


@latex.register
def _(x: Term) -> str:
    return displayed(formula(x))


@plain.register
def _(x: Term) -> str:
    (root,) = roots_of(x)
    shown = brief(x)
    kind = in_type_words(root.type if is_term(root) else None)
    return "\n".join([unpainted(shown.text), *([f"({shown.cut})"] if shown.cut else []), f"  {kind}"])


def displayed(mathematics: str) -> str:
    r"""Return mathematics as a notebook reads it.

    >>> displayed("x")
    '$\\displaystyle x$'
    """
    return rf"$\displaystyle {mathematics}$"


html.register(Symbolic)(html.dispatch(Term))
latex.register(Symbolic)(latex.dispatch(Term))
plain.register(Symbolic)(plain.dispatch(Term))
