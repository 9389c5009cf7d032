"""Functions and patterns as the text of a row: NumPy, and the ops of relgrad by their names.

A function is taken as it is written where its names mean the same in any file; else the text is that of its term.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
import textwrap
from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

import relgrad.ops
from relgrad.display.text import show
from relgrad.errors import RelationError
from relgrad.relation import Relation

OPS = {name: x for name, x in vars(relgrad.ops).items() if callable(x) and not name.startswith("_")}
"""The functions that a row may name beside NumPy's."""
WIDTH = 100

TEMPLATE = '''"""Relations of this project: equations over the reals, written on the left, computed on the right.

Check them: relgrad check FILE. Use them: relgrad.grad(f, relations=relgrad.LIBRARY.extended(double_angle)).
"""

import numpy as np

from relgrad.ops import logsumexp
from relgrad.relation import nonnegative, relation


@relation(source="double angle")
def double_angle(x):
    """Twice the product of sine and cosine."""
    return 2 * np.sin(x) * np.cos(x), np.sin(2 * x)


@relation(source="definition of the root")
def root_of_square(x):
    """The root of a square is its argument, where that is not negative: conditions come after the sides."""
    return np.sqrt(x**2), x, nonnegative(x)


@relation(source="Blanchard, Higham & Higham 2021, eq. 1.4")
def log_sum(x, axis):
    """The log of a sum of exponentials: sums keep their axes, and stand for those that do not as well."""
    return np.log(np.sum(np.exp(x), axis=axis, keepdims=True)), logsumexp(x, axis=axis, keepdims=True)
'''
"""A file of relations to start from."""


class Equation(NamedTuple):
    """ "np.log(np.exp(x))", "x", (): both sides as text, and what is defined before them."""

    left: str
    right: str
    definitions: tuple[tuple[str, str], ...] = ()


class Row(NamedTuple):
    """ "root", ("x",), √x² = x → "@relation(source=…) def root(x): …": the parts of a text that can be pasted."""

    name: str
    variables: tuple[str, ...]
    equation: Equation
    conditions: tuple[str, ...] = ()
    doc: str = ""
    source: str = ""

    def __str__(self) -> str:
        return f"{self._imports()}\n\n\n{self._function()}"

    def compiled(self) -> Relation:
        """ "@relation … def f(x): …" → Relation: the relation that the text defines; its lines can be read by whoever
        asks for them.

        Raises RelationError where the text defines none.
        """
        file, text = f"<new relation {self.name}>", str(self)
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        names: dict[str, Any] = {"__name__": "relgrad.authored"}
        exec(compile(text, file, "exec"), names)
        return names[self.name]

    def _imports(self) -> str:
        used = {n.id for n in ast.walk(ast.parse(self._function())) if isinstance(n, ast.Name)}
        conditions = {text.partition("(")[0] for text in self.conditions}
        ops = sorted((used & OPS.keys()) - conditions - {*self.variables})
        lines = ["import numpy as np\n"] if "np" in used else []
        lines += [f"from relgrad.ops import {', '.join(ops)}"] if ops else []
        return "\n".join(
            [*lines, f"from relgrad.relation import {', '.join(sorted(conditions | {'relation'}))}"]
        )

    def _function(self) -> str:
        asked = "" if self.source else "  # where it can be looked up: rg.check refuses a row without it"
        parts = (self.equation.left, self.equation.right, *self.conditions)
        returned = f"    return {', '.join(parts)}"
        if len(returned) > WIDTH:
            inner = "".join(f"        {part},\n" for part in parts)
            returned = f"    return (\n{inner}    )"
        return "\n".join(
            [
                f"@relation(source={_quoted(self.source)}){asked}",
                f"def {self.name}({', '.join(self.variables)}):",
                f'    """{_docstring(self.doc)}"""',
                *[f"    {name} = {text}" for name, text in self.equation.definitions],
                returned,
            ]
        )


def _quoted(text: str) -> str:
    return f'"{text}"' if text.isprintable() and not {'"', "\\"} & {*text} else repr(text)


def _docstring(text: str) -> str:
    return text.strip().replace("\\", "\\\\").replace('"""', "'''")


def expression(text: str, role: str) -> Callable[..., Any]:
    """Return the function of the variables of a Python expression, in the order in which they come.

    >>> inspect.signature(expression("np.log(np.exp(a) + np.exp(b))", "left side"))
    <Signature (a, b)>

    Raises RelationError, which names the side, for what is no expression.
    """
    try:
        body = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise RelationError(
            f"the {role} is no Python expression: {text}",
            where=f"the {role}, column {error.offset}",
            cause=str(error.msg),
            cure='write NumPy, such as "np.log(np.exp(a) + np.exp(b))"',
        ) from error
    known = {"np", *OPS, *vars(builtins)}
    called = {id(n.func) for n in ast.walk(body) if isinstance(n, ast.Call)}
    names = [n for n in ast.walk(body) if isinstance(n, ast.Name)]
    names.sort(key=lambda n: (n.lineno, n.col_offset))
    unknown = [n.id for n in names if id(n) in called and n.id not in known]
    if unknown:
        raise RelationError(
            f"the {role} calls {unknown[0]}, which there is not",
            where=f"the {role}: {text}",
            cause=f"np.{unknown[0]} is NumPy's" if hasattr(np, unknown[0]) else "",
            cure="write NumPy's functions as np.…, and relgrad's ops, such as softplus, by their names",
        )
    variables = dict.fromkeys(n.id for n in names if n.id not in known)
    source = f"lambda {', '.join(variables)}: {ast.unparse(body)}"
    file = f"<the {role}>"
    linecache.cache[file] = (len(source), None, [source], file)
    return eval(compile(source, file, "eval"), {"np": np, **OPS})


def as_written(function: Callable[..., Any]) -> str | None:
    """Return the expression that a function returns, in names that mean the same in any file; None where it has none.

    >>> as_written(expression("softplus(a) - np.log(b)", "left side"))
    'softplus(a) - np.log(b)'
    """
    body = _returned(function)
    if body is None:
        return None
    try:
        closure = inspect.getclosurevars(function)
    except TypeError:
        return None
    names = {**closure.builtins, **closure.globals, **closure.nonlocals}
    plain = _Plain(names, [*inspect.signature(function).parameters])
    text = ast.unparse(ast.fix_missing_locations(plain.visit(body)))
    return None if plain.failed else text


class _Plain(ast.NodeTransformer):
    """numpy.exp(x) → np.exp(x): usual names of NumPy and the ops; `failed` where a name means anything else."""

    def __init__(self, names: dict[str, Any], parameters: Sequence[str]):
        self.names, self.parameters, self.failed = names, parameters, False

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self.parameters:
            return node
        return self._named(self.names.get(node.id), node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id in self.names:
            base = self.names[node.value.id]
            if inspect.ismodule(base) and base is not np:
                return self._named(getattr(base, node.attr, None), node)
        return self.generic_visit(node)

    def _named(self, x: Any, node: ast.AST) -> ast.AST:
        if x is np:
            return ast.Name("np", ast.Load())
        name = next((name for name, op in OPS.items() if op is x), None)
        if name is not None:
            return ast.Name(name, ast.Load())
        self.failed = self.failed or not (isinstance(x, type(abs)) and hasattr(builtins, x.__name__))
        return node


def _returned(function: Any) -> ast.expr | None:
    """lambda x: x + 1 → x + 1: the expression of a lambda, or of a function that does nothing but return it."""
    node = definition_of(getattr(function, "__code__", None))
    if isinstance(node, ast.Lambda):
        return node.body
    if isinstance(node, ast.FunctionDef):
        body = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
        if len(body) == 1 and isinstance(body[0], ast.Return):
            return body[0].value
    return None


def definition_of(code: CodeType | None) -> ast.Lambda | ast.FunctionDef | None:
    """code of f → def f(x): …, in the tree of its file; None where its source is not to be had."""
    if code is None:
        return None
    lines = linecache.getlines(code.co_filename)
    try:
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (SyntaxError, ValueError):  # such as IPython's own syntax, or no text at all
        return None
    positions = set(code.co_positions())
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda):
            body = node.body
            if (body.lineno, body.end_lineno, body.col_offset, body.end_col_offset) in positions:
                return node
        elif isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            first = min([node.lineno, *[d.lineno for d in node.decorator_list]])
            if first == code.co_firstlineno:
                return node
    return None


def of_terms(left: Any, right: Any) -> Equation:
    """log(exp(x)), x → "np.log(np.exp(x))", "x": patterns as text; a part that is used twice is named."""
    (*sides,) = show((left, right), width=WIDTH).split("\n")
    defined = [line.strip().removeprefix("where ").strip() for line in sides[2:]]
    pairs = [line.partition(" = ")[::2] for line in reversed(defined)]
    return Equation(_numpy(sides[0]), _numpy(sides[1]), tuple([(name, _numpy(text)) for name, text in pairs]))


def _numpy(text: str) -> str:
    """Return a text of `show` with its functions under the names that Python knows.

    >>> _numpy("log(sum(exp(x), axis=axis, keepdims))")
    'np.log(np.sum(np.exp(x), axis=axis, keepdims=True))'
    """
    try:
        tree = ast.parse(text.replace(", keepdims)", ", keepdims=True)"), mode="eval")
    except SyntaxError:
        return text
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in OPS:
            _keep_names(node, inspect.signature(OPS[node.func.id]).parameters)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            home = np if hasattr(np, node.func.id) else np.linalg
            if hasattr(home, node.func.id):
                node.func.id = f"np.{'linalg.' * (home is not np)}{node.func.id}"
        elif isinstance(node, ast.Name) and node.id in ("nan", "inf", "pi"):
            node.id = f"np.{node.id}"
    return ast.unparse(tree)


def _keep_names(call: ast.Call, parameters: Mapping[str, Any]) -> None:
    """logsumexp(x, w, axis=a) → logsumexp(x, weights=w, axis=a, keepdims=True): what the term of an op does not say.

    In a relation all ops keep their axes.
    """
    if "weights" in parameters and len(call.args) > 1:
        call.keywords.insert(0, ast.keyword("weights", call.args.pop()))
    if "keepdims" in parameters and "keepdims" not in [k.arg for k in call.keywords]:
        call.keywords.append(ast.keyword("keepdims", ast.Constant(True)))
