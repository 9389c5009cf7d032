"""The construct in the user's source that asked a tracer for its value: where it stands, and what it is.

Python gives no such hint to `__bool__` or `__float__`; the frame's instruction and its source text do.
"""

from __future__ import annotations

import ast
import dis
import linecache
import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from types import CodeType, FrameType
from typing import Any

from relgrad.errors import user_frame


@dataclass(frozen=True, slots=True)
class Construct:
    """`if x > 0:` → ("f.py:3", "x > 0", "if"): the user's text of an expression (empty without source), and its kind.

    The kind is "if", "while", "assert", "conditional", "comprehension", "boolean", "comparison", "not", "in",
    "call", "subscript", "store", "inplace", or "" where nothing is known; `called` is the name called.
    """

    where: str
    text: str = ""
    kind: str = ""
    called: str = ""

    @property
    def quoted(self) -> str:
        return f"`{self.text}`" if self.text else ""


def construct() -> Construct:
    """→ Construct of the innermost frame that belongs to neither relgrad, NumPy nor SciPy."""
    frame, _ = user_frame()
    return Construct("<unknown>") if frame is None else _read(frame)


def is_formatting(frame: FrameType) -> bool:
    """Whether a frame is at the operator `%`: where it asks for a float, a text is formatted."""
    return frame.f_lasti in _remainders(frame.f_code)


@lru_cache(maxsize=256)
def _remainders(code: CodeType) -> frozenset[int]:
    """Return the offsets of the operator `%` in code."""
    return frozenset(
        i.offset for i in dis.get_instructions(code) if i.opname == "BINARY_OP" and i.argrepr in ("%", "%=")
    )


def _read(frame: FrameType) -> Construct:
    """frame at `if x > 0:` → Construct("f.py:3", "x > 0", "if"): by its instruction and its source text."""
    code = frame.f_code
    where = f"{code.co_filename}:{frame.f_lineno}"
    opname = _instruction(code.co_code, frame.f_lasti)
    line, end_line, column, end_column = next(
        islice(code.co_positions(), frame.f_lasti // 2, None), (None, None, None, None)
    )
    if line is None or end_line is None or column is None or end_column is None:
        return Construct(where, kind=_kind(opname))
    text = _text(frame, line, end_line, column, end_column)
    kind, called = _kind(opname), ""
    if kind == "store":
        text = f"del {text}" if opname == "DELETE_SUBSCR" else f"{text} = ..."
    if kind == "call":
        called = _called(text)
    elif "JUMP" in opname or opname in ("TO_BOOL", "COMPARE_OP", "UNARY_NOT"):
        # From Python 3.13 on, a comparison that is tested becomes true or false by itself.
        kind, text = _condition(frame, line, column, text)
    elif kind == "inplace":
        # From Python 3.14 on, x[i] is a BINARY_OP as well.
        kind = (
            "inplace" if re.search(r"(?<![=!<>])=(?!=)", text) else "subscript" if text.endswith("]") else ""
        )
    return Construct(where, text if len(text) <= 70 else text[:67] + "...", kind, called)


def _called(text: str) -> str:
    """np.random.default_rng(0).normal(x) → normal: the name that is called."""
    match = re.match(r"[\w.]+(?=\()", text)
    try:
        node: Any = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return match.group() if match else ""
    if not isinstance(node, ast.Call):
        return match.group() if match else ""
    names, function = [], node.func
    while isinstance(function, ast.Call):
        function = function.func
    while isinstance(function, ast.Attribute):
        names.append(function.attr)
        function = function.value
    return ".".join([*([function.id] if isinstance(function, ast.Name) else []), *names[::-1]])


def _instruction(code: bytes, position: int) -> str:
    """Return the name of the instruction at a position, which may be in the cache that follows it."""
    while position > 0 and dis.opname[code[position]] == "CACHE":
        position -= 2
    return dis.opname[code[position]]


def _kind(opname: str) -> str:
    """STORE_SUBSCR → "store", CALL → "call": the kind of a construct by the name of its instruction."""
    kinds = {
        "CONTAINS_OP": "in",
        "STORE_SUBSCR": "store",
        "STORE_SLICE": "store",
        "DELETE_SUBSCR": "store",
        "BINARY_SUBSCR": "subscript",
        "BINARY_SLICE": "subscript",
        "BINARY_OP": "inplace",
    }
    # In Python 3.11 what has been called often is called by the instruction before.
    return "call" if opname.startswith(("CALL", "PRECALL")) else kinds.get(opname, "")


def _text(frame: FrameType, line: int, end_line: int, column: int, end_column: int) -> str:
    """(3, 3, 4, 9) → "x > 0": the source between two positions, whose columns count UTF-8 bytes, on one line."""
    file, scope = frame.f_code.co_filename, frame.f_globals
    rows = [linecache.getline(file, n, scope).encode() for n in range(line, end_line + 1)]
    rows[-1] = rows[-1][:end_column]
    rows[0] = rows[0][column:]
    return " ".join(row.decode(errors="replace").strip() for row in rows).strip()


def _condition(frame: FrameType, line: int, column: int, text: str) -> tuple[str, str]:
    """position in `if x > 0:` → ("if", "x > 0"): the construct that tests the expression there, and its text."""
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError):  # a notebook's magics, or no source at all
        return "", text
    found = ""
    # Breadth first: what is found last is innermost.
    for node in ast.walk(tree):
        for kind, part in _tests(node):
            begin, end = (part.lineno, part.col_offset), (part.end_lineno or 0, part.end_col_offset or 0)
            if begin <= (line, column) < end:
                found, text = kind, ast.unparse(part) if kind in ("not", "comparison") else text
            # The jumps of `elif` and `assert` belong to the statement in some versions of Python.
            elif isinstance(node, (ast.If, ast.Assert)) and (node.lineno, node.col_offset) == (line, column):
                found, text = kind, ast.unparse(part)
    return found, text


def _tests(node: ast.AST) -> list[tuple[str, ast.expr]]:
    """ast of `if a: …` → [("if", a)]: the expressions that a syntax node tests, and as which construct."""
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.Assert(test=test) | ast.IfExp(test=test):
            kind = type(node).__name__.lower()
            return [("conditional" if kind == "ifexp" else kind, test)]
        case ast.comprehension(ifs=tests):
            return [("comprehension", test) for test in tests]
        case ast.UnaryOp(op=ast.Not()):
            return [("not", node)]
        case ast.BoolOp(values=values):
            # The last operand is not tested here, but by what stands around.
            return [("boolean", value) for value in values[:-1]]
        case ast.Compare(ops=[_, _, *_]):
            return [("comparison", node)]
    return []
