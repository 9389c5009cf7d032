"""Models as researchers write them: parameters unpacked and packed, recursions over slices, linear algebra, `einsum`.

A program takes a vector of parameters, data, a matrix and, perhaps, a mapping of weights and integers; it makes arrays
of several kinds, fills them along axes, passes them through helpers, classes and recursions, and returns one result or
several. A seed names a program and its arguments. Whatever is rewritten, the values are those of NumPy, the first and
second derivatives along a direction those of differences, where two steps agree on them, and NumPy with itself where
the arguments move by roundings.
"""

from __future__ import annotations

import copy
import random
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from ordinary_programs import alarmed

import relgrad as rg

# In a template $S is a number, $V a vector of extent n, $H one of extent m, $M an n×m matrix, $A an n×n one, $P one
# that is positive definite, $T a 2×n×m tensor, $K an array of n integers below n, $B a mask of extent n, $I an integer
# below n: all as expressions, those with a 1 the same wherever they stand; $C is a number, $v, $u, $f and $F are names
# that are new.
EXPRESSIONS = {
    "S": r"""
$V.sum() | np.mean($M) | $V @ $V | np.trace($A) | np.trace($M @ $M.T) | np.einsum('ij,ij->', $M, $M) | $V[$I]
np.einsum('i,ij,j->', $V, $A, $V) | $V @ np.linalg.solve($P, $V) | np.linalg.slogdet($P)[1] | np.linalg.det($A)
np.sum(np.log(np.diag(np.linalg.cholesky($P)))) | np.linalg.norm($M) | np.linalg.norm($V) | np.linalg.norm($A, 'fro')
np.sum($M, axis=(0, 1)) | np.max($T, axis=(0, 1, 2)) | np.var($V, ddof=0) | $H.std() + $C | np.logaddexp.reduce($V)
np.log(np.sum(np.exp($V))) | np.trapezoid($V) | np.polyval($V, np.tanh($S)) | np.vdot($V, $V) | $A[$I, $I]
$M[$I, -1] | np.linalg.eigvalsh($P)[0] | np.linalg.svd($M, compute_uv=False)[0] | np.median($V) | np.tanh($S)
$S * $S | $S + $S | $S - $S | $S1 / (1 + $S1**2) | np.exp(-$S**2) | np.log(1 + np.exp($S)) | np.sqrt(1 + $S**2)
np.sin($S) | $C * $S | np.interp($S, np.arange($n) * 1.0, $V) | np.where($B, $V, 0.0).sum() | $V[$B].sum()
np.min($V) | max($S, $S) | np.inner($H, $H) | np.tensordot($M, $M) | -0.5 * $V @ np.linalg.inv($P) @ $V
np.arctan2($S, 1 + $S**2) | $V.prod() | np.einsum('bij,bij->', $T, $T) | np.linalg.norm($M @ $H - $V)
np.average($V, weights=1 + $V**2) | np.ptp($H) | np.sum(np.triu($A, 1)) | np.count_nonzero($B) * $S
($V > $S).mean() * $S | np.sum($V * np.log(np.exp($V1) / np.sum(np.exp($V1)))) | np.linalg.cond($P)
np.linalg.matrix_power($A, 2)[0, -1] | np.quantile($V, 0.3) | np.square($V - $V.mean()).mean()
""",
    "V": r"""
$M @ $H | $A @ $V | np.linalg.solve($P, $V) | np.linalg.cholesky($P) @ $V | np.linalg.eigvalsh($P) | np.diag($A)
np.cumsum($V) | np.diff($V, prepend=$S) | np.convolve($V, $V, 'same') | np.sort($V) | $V[np.argsort($V)] | $V[::-1]
np.einsum('ij,j->i', $M, $H) | np.einsum('bij,j->i', $T, $H) | $M.sum(axis=1) | np.linalg.norm($M, axis=1)
$M.max(-1) | np.exp($V1) / np.sum(np.exp($V1)) | $V1 - np.log(np.exp($V1).sum()) | np.cumprod(np.tanh($V))
np.maximum.accumulate($V) | np.gradient($V) | np.roll($V, 1) | np.bincount($K, weights=$V, minlength=$n) | $V[$K]
$M[np.arange($n), $K % $m] | np.take_along_axis($M, ($K % $m)[:, None], axis=1)[:, 0] | np.outer($V, $V)[$I]
np.kron($V, $V)[:$n] | np.tile($V, 2)[1:$n + 1] | np.array([a * b for a, b in zip($V, $V)]) | np.array([$S, *$V[1:]])
np.stack([$V, $V]).mean(axis=0) | $V * $V | $V + $V | $V - $V | $V * $S | $V + $S | np.tanh($V)
1 / (1 + np.exp(-$V)) | np.sin($V) | $V1 / (1 + $V1**2) | np.exp(-$V**2) | $C * $V | np.log(1 + np.exp($V))
np.sqrt($V**2 + $C) | np.where($B, $V, $V) | np.where($V > $S, $V, -$V) | np.clip($V, -1, $S)
np.maximum($V, $C * $V) | np.abs($V) | $V1 - $V1.mean() | ($V1 - $V1.mean()) / ($V1.std() + $C)
np.interp($V, np.arange($n) * 1.0, $V) | np.full($n, $S) | np.linspace($S, $S + 1, $n) | np.arange($n) * $S
np.concatenate([$V[1:], $V[:1]]) | $A[$I] | $A[:, $I] | np.mean($T, axis=(0, 2)) | np.sum($T, axis=(0, -1))
np.logaddexp.reduce($M, axis=1) | np.logaddexp($V, $V) | $V**2 | $V**3 | np.select([$V > 1, $V > 0], [$V, $V**2], $S)
np.correlate($V, $V, 'same') | np.append($V[:-1], $S) | np.polyval([$S, $C, $S], $V) | np.triu($A) @ $V
np.linalg.inv($P) @ $V | np.linalg.lstsq($P, $V, rcond=None)[0] | np.repeat($S, $n) | np.average($M, axis=1)
np.pad($V, 1)[:$n] | np.median($M, axis=1) | np.var($M, axis=1) | $M[:, 0] | np.squeeze($M[:, :1])
np.add.reduceat($V, np.arange($n)) | np.apply_along_axis(np.sum, 1, $M) | np.fromiter((a * $C for a in $V), float)
np.asarray(list(map(np.tanh, $V))) | $V / np.linalg.norm(np.append($V, 1.0)) | np.hypot($V, 1 + $S)
np.heaviside($V, 0.5) * $V | np.ravel($M)[:$n] | np.einsum('ii->i', $A)
""",
    "H": r"""
$V @ $M | $M.T @ $V | $M.mean(axis=0) | $M[$I] | np.einsum('i,ij->j', $V, $M) | np.tanh($H) | $H * $H | $H + $S
$H - $H | np.exp($H1) / np.exp($H1).sum() | np.linalg.norm($M, axis=0) | $T[0].max(axis=0)
np.log(np.sum(np.exp($M), axis=0)) | $H[::-1] | np.cumsum($H) | np.sort($H) | np.full($m, $S) | $M.var(axis=0)
np.linalg.solve($M1.T @ $M1 + np.eye($m), $H) | $C * $H | np.where($H > $S, $H, 0.1 * $H) | np.sum($T, axis=(0, 1))
np.einsum('bij->j', $T) | np.prod($M, axis=0) | $M.ravel()[-$m:]
""",
    "M": r"""
np.outer($V, $H) | $A @ $M | $M * $M | $M + $H | $M * $V[:, None] | $M1 - $M1.mean(axis=0, keepdims=True)
np.tanh($M) | $M[::-1] | np.exp($M1) / np.exp($M1).sum(axis=1, keepdims=True)
$M1 - np.log(np.sum(np.exp($M1), axis=-1, keepdims=True)) | $C * $M | $M + $M | np.linalg.solve($P, $M) | $T[0]
$T.sum(axis=0) | np.einsum('bij,bij->ij', $T, $T) | np.cumsum($M, axis=1) | np.sort($M, axis=0)
np.where($B[:, None], $M, 0.0) | np.where($M > $S, $M, $M**2) | np.maximum($M, 0) | $M[np.argsort($M[:, 0])] | $M[$K]
$M1 / (1 + $M1**2) | np.stack([r - r.mean() for r in $M]) | np.array([a * $H for a in $V]) | $V.reshape(-1, 1) * $H
np.broadcast_to($H, ($n, $m)) * $S | np.reshape(np.ravel($M), ($n, $m)) | np.concatenate([$M[1:], $M[:1]], axis=0)
np.vstack([$H] * $n) | np.column_stack([$V] * $m) | $M @ np.linalg.inv($M1.T @ $M1 + np.eye($m))
np.einsum('ik,kj->ij', $A, $M) | np.multiply.outer($V, $H) | np.tensordot($A, $M, axes=1)
np.roll($M, 1, axis=(0, 1)) | np.flip($M, axis=1)
$M1 / np.linalg.norm(np.hstack([$M1, np.ones(($n, 1))]), axis=1, keepdims=True) | np.diff($M, axis=0, prepend=0)
$T.max(axis=0) | np.take($M, $K, axis=0) | np.linalg.svd($M, full_matrices=False)[1].sum() * $M
($M - $M.mean((0, 1), keepdims=True)) / ($M.std(axis=(0, 1), keepdims=True) + 1) | np.swapaxes($M.T, 0, 1)
""",
    "A": r"""
np.outer($V1, $V1) | $M1 @ $M1.T | $P | np.diag($V) | $A @ $A | $A.T | $A + $A | $A * $S | $A1 - $A1.T | np.tril($A)
np.eye($n) * $S | np.linalg.inv($P) | np.linalg.cholesky($P) | $V1[:, None] - $V1[None, :]
np.exp(-(($V1[:, None] - $V1) ** 2)) | np.tanh($A)
np.sqrt(1 + np.sum(($M1[:, None, :] - $M1[None, :, :]) ** 2, axis=-1)) | np.linalg.solve($P, $A)
np.maximum.outer($V, $V) | np.einsum('ik,jk->ij', $M, $M) | np.kron($A, $A)[:$n, :$n]
np.array([[a * b for b in $V] for a in $V]) | $A[np.ix_($K, $K)] | np.linalg.eigh($P)[1] ** 2
np.block([[np.eye(1), np.zeros((1, $n - 1))], [$V[1:, None], $A[1:, 1:]]]) | np.cov($M)
np.fromfunction(lambda i, j: i - j, ($n, $n)) * $S | np.linalg.matrix_power($A, 2) | np.vander($V, $n)
np.add.outer($V, $V)
""",
    "P": r"""
np.diag(1.0 + np.arange($n)) + $M1 @ $M1.T | np.diag(1.0 + np.arange($n)) + np.outer($V1, $V1) | np.diag(1 + $V**2)
$P + $P | np.diag(1.0 + np.arange($n)) + $A1.T @ $A1
np.diag($S**2 + 1 + np.arange($n)) + np.exp(-(($V1[:, None] - $V1) ** 2)) | np.linalg.inv($P)
0.5 * ($A1 + $A1.T) + np.diag(9.0 + np.arange($n)) | np.diag(1.0 + np.arange($n)) + np.einsum('ik,jk->ij', $M1, $M1)
""",
    "T": r"""
np.stack([$M, $M]) | np.array([$M, $M]) | $T * $T | np.tanh($T) | $T + $M | $T * $H
np.einsum('b,ij->bij', np.array([$S, $C]), $M) | $A @ $T | $T1 - $T1.mean(axis=(1, 2), keepdims=True)
np.exp($T1) / np.exp($T1).sum(axis=(0, 2), keepdims=True) | $T[::-1] | np.broadcast_to($M, (2, $n, $m)) * $S
np.transpose(np.transpose($T, (2, 0, 1)), (1, 2, 0)) | np.cumsum($T, axis=1)
""",
    "K": r"""
np.argsort($V) | np.arange($n) | $K[::-1] | ($K + 1) % $n | np.argmax($A, axis=0) | np.where($B, $K, 0)
np.searchsorted(np.sort($V), $V) % $n
""",
    "B": r"""
$V > $S | $V < $V | $K > 0 | ~$B | $B & $B | np.abs($V) < 1 | np.isfinite($V) | np.arange($n) % 2 == 0
""",
    "I": r"""
0 | -1 | 1 % $n | $K[0] | int(np.argmax($V)) | $n // 2 | np.argmin($V) | int(np.sum($B)) - 1
""",
}
STATEMENTS = r"""
$v = $S | $v = $V | $v = $V | $v = $H | $v = $M | $v = $M | $v = $A | $v = $P | $v = $T | $v = $K | $v = $B
$v, *$u = $V\n$v = np.array([*$u, $v]) | $v, $u = $V, $M\n$u = $u + $v[:, None]
$v = dict(a=$V, b=$S)\n$v = $v['a'] * $v['b'] | $v, $u = $V[:1], $V[1:]\n$v = np.concatenate([$u, $v * $S])
$v, $u = np.split($T, 2)\n$v = $v[0] - $C * $u[0] | $v = np.zeros($n)\nfor i in range($n):\n    $v[i] = $V[i] * $S
$v = np.zeros($n)\n$v[0] = $S\nfor t in range(1, $n):\n    $v[t] = $C * $v[t - 1] + $V[t]
$v = np.zeros(($n, $m))\nfor t in range($n):\n    $v[t] = np.tanh($H + $v[t - 1] * $S)
$v = $V.copy()\nfor i in range(1, $n):\n    $v[i:] -= $C * $v[i - 1] * $V[: $n - i]
$v = $M.copy()\n$v[:, 0] += $V\n$v[-1] *= $S
$v = $M.copy()\nfor j in range($m):\n    $v[:, j] = $v[:, j] - ($v[:, j] @ $V) / (1 + $V @ $V) * $V
$v = $A.copy()\nfor i in range($n):\n    for j in range(i):\n        $v[i, j] = $v[j, i] = $V[i] * $V[j]
$v = np.empty_like($M)\n$v[::2] = $H\n$v[1::2] = $S | $v = $V.copy()\n$v[$B] = $S | $v = $V.copy()\n$v[$B] *= $V[$B]
$v = np.zeros($n)\nnp.add.at($v, $K, $V) | $v = np.zeros(($n, $m))\nnp.add.at($v, $K, $M)
$v = np.exp($V)\nnp.divide($v, $v.sum(), out=$v) | $v = np.multiply($V, $V, out=np.zeros($n), where=$B)
$v = $A.copy()\n$v[np.diag_indices($n)] += $V | $v = $A.copy()\nnp.fill_diagonal($v, $S)
$v = []\nfor a, b in zip($V, $V):\n    $v.append(a * b + (sum($v) if $v else 0))\n$v = np.array($v)
$v = [$V]\nfor _ in range(2):\n    $v.append(np.tanh($A @ $v[-1]))\n$v = np.stack($v, axis=1).sum(axis=1)
$v = $V\nfor k, r in enumerate($M):\n    $v = $v + r.sum() * $V / (k + 1)
$v = sum(r @ $H * w for r, w in zip($M, $V))
$v = 0.0\nfor i, a in enumerate($V):\n    if a > $S:\n        $v += a * (i + 1)\n    else:\n        $v -= $C
$v, $u = $S, 0\nwhile abs($v) > 0.1 and $u < 6:\n    $v = $v * 0.5\n    $u += 1
$v = 1 + $S**2\nfor _ in range(4):\n    $v = 0.5 * ($v + (1 + $S**2) / $v)
$v = $V\nfor _ in range(2):\n    $v = $v - np.linalg.solve($P, $v - $V)
def $f(a, b=$S, *, scale=$C):\n    c = a * scale\n    return c + b\n$v = $f($V, scale=2.0)
def $f(x):\n    return np.sum(np.tanh(x) * $V)\n$v = $f($V) * $V
def $f(k, x):\n    return x if k == 0 else $f(k - 1, np.tanh($A @ x))\n$v = $f(2, $V) | $v = (lambda q: q @ q.T)($M)
def $f(q):\n    w, b = q['w'], q['b']\n    return 1 / (1 + np.exp(-($M @ w + b)))\n$v = $f({'w': $H, 'b': $S})
class $F:\n    w = 2.0\n    def of(self, x):\n        return x * self.w\n$u = $F()\n$u.w = $S\n$v = $u.of($V)
$v = functools.reduce(lambda a, b: a * $C + b, $V)
$v = {i: a * $S for i, a in enumerate($V)}\n$v = sum($v.values())
def $f():\n    s = $S\n    for a in $V:\n        s = s * $C + a\n        yield s\n$v = np.array(list($f()))
$v = np.sum([a**2 for a in $V if a > $S]) | $v = $M if $S > 0 else $M
$v = $V\nif $v.sum() > $S:\n    $v = $v / (1 + np.abs($v).sum())
$v = $M\n$v = $v - $v.mean(axis=0)\n$v = $v / np.sqrt(np.mean($v**2, axis=0, keepdims=True) + $C)
$v, $u = np.linalg.eigh($P)\n$v = $u @ np.diag(np.sqrt($v)) @ $u.T | $v = np.linalg.qr($P)\n$v = np.abs($v[1])
$v = np.linalg.cholesky($P)\n$v = np.linalg.solve($v.T, np.linalg.solve($v, $V))
Pair = collections.namedtuple('Pair', 'm v')\n$u = Pair($V, 1 + $V**2)\n$v = np.sum(np.log($u.v) + ($u.m - $S) / $u.v)
$v = np.zeros(($n, $n))\n$v[np.tril_indices($n)] = $S\n$v = $v @ $A | $v = $V.astype(np.float32)\n$v = $v * 2 + $V
$v = $V.astype(np.float32).sum() + $S | $v = ($V > $S).astype(float)\n$v = $v @ $V | $v = $K * $V + len($V) // 2
$v = $V ** ($K % 3) | $v = np.cumsum($B)[-1] * $V | $v = $V, $M\n$v = [np.tanh(q) for q in $v]\n$v = $v[0] @ $v[1]
$v = $T\nfor q in $v:\n    $v = $v + q | assert np.all(np.isfinite($V))\n$v = $V * 2
$v = $V[:, None] * $M\n$v[$B] = 0.0 | $v = np.linalg.norm($M[:, None] - $M[None] + 1, axis=-1)
"""
NUMBERS = ["0.5", "1.5", "2.0", "0.1", "3", "1", "2", "-1.0", "0.25"]
DEPTH, LARGEST = 2, 80
_HOLE = re.compile(r"\$(\w1?)")


def _templates(text: str) -> list[str]:
    return [t.strip().replace("\\n", "\n") for line in text.strip().splitlines() for t in line.split(" | ")]


_EXPRESSIONS = {kind: _templates(text) for kind, text in EXPRESSIONS.items()}
_STATEMENTS = _templates(STATEMENTS)


class Program(NamedTuple):
    """The text of a function `f`, and the arguments that it is called with."""

    text: str
    args: tuple[Any, ...]

    @property
    def function(self) -> Callable[..., Any]:
        """The function itself; each time another object, which nothing is known of."""
        space: dict[str, Any] = {}
        exec("import collections, functools\nimport numpy as np\n" + self.text, space)
        return space["f"]


class _Seen(Exception):
    """Ends a program that is looked at in the middle."""


class _Writer:
    """A program while it is written: each statement runs before the next is drawn."""

    def __init__(self, draw: random.Random):
        self.draw, self.count = draw, 0
        self.n, self.m = draw.choice([(3, 4), (4, 3), (3, 2), (2, 3), (4, 1), (2, 2)])
        numbers = np.random.default_rng(draw.getrandbits(32))
        n, m = self.n, self.m
        of = lambda *shape: numbers.normal(size=shape) * draw.choice([1.0, 1.0, 0.4])
        made: dict[str, Any] = {"theta": of(n), "X": of(n, m)}
        extra: dict[str, Callable[[], Any]] = {
            "w": lambda: of(m),
            "c": lambda: float(of()),
            "k": lambda: numbers.integers(0, n, size=n),
            "mask": lambda: numbers.random(n) < 0.6,
            "cube": lambda: of(2, n, m),
            "R": lambda: of(n, n),
            "p": lambda: {"a": of(n), "b": float(of())},
        }
        for name in draw.sample(list(extra), draw.choice([1, 2, 2, 3])):
            made[name] = extra[name]()
        self.args = tuple(made.values())
        self.head = f"def f({', '.join(made)}):"
        self.lines = ["    pa, pb = p['a'], p['b']"] if "p" in made else []
        self.values: dict[str, Any] = {}
        self.look(self.lines)

    def look(self, lines: Sequence[str]) -> bool:
        """Run lines; keep what there is at their end, unless they fail or leave moderate sizes."""
        found: dict[str, Any] = {}

        def look(space: dict[str, Any]) -> None:
            found.update(space)
            raise _Seen

        space: dict[str, Any] = {"_look": look}
        text = "\n".join(
            ["import collections, functools\nimport numpy as np", self.head, *lines, "    _look(locals())"]
        )
        try:
            exec(text, space)
            with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
                warnings.simplefilter("error")
                space["f"](*copy.deepcopy(self.args))
        except _Seen:
            pass
        except Exception:
            return False
        if not found or not all(
            _is_moderate(v) for v in found.values() if isinstance(v, (float, np.generic, np.ndarray))
        ):
            return False
        self.values = found
        return True

    def kind(self, value: Any) -> str | None:
        """Return what kind of value this is."""
        if isinstance(value, (float, np.floating)):
            return "S"
        if not isinstance(value, np.ndarray) or value.dtype == np.float32:
            return None
        n, m = self.n, self.m
        kinds = {(n,): "V", (m,): "H", (n, m): "M", (n, n): "A", (2, n, m): "T", (): "S"}
        if value.dtype.kind in "ib":
            return {"i": "K", "b": "B"}[value.dtype.kind] if value.shape == (n,) else None
        return kinds.get(value.shape)

    def expression(self, kind: str, depth: int) -> str:
        """Return the text of an expression of a kind: a name, or a template that is filled."""
        names = [k for k, v in self.values.items() if self.kind(v) == kind and k != "Pair"]
        if names and (depth >= DEPTH or self.draw.random() < 0.25 + 0.35 * depth):
            return self.draw.choice([*names, *names[-3:], *names[-1:] * 3])
        if depth > DEPTH:
            raise LookupError
        text = self.filled(self.draw.choice(_EXPRESSIONS[kind]), depth + 1, {})
        return text if re.fullmatch(r"[\w.]+(\([^()]*\))?", text) else f"({text})"

    def filled(self, template: str, depth: int, new: dict[str, str]) -> str:
        """Return a template with its holes filled."""

        def fill(hole: re.Match[str]) -> str:
            c = hole[1]
            if c in _EXPRESSIONS:
                return self.expression(c, depth)
            if c[0] in _EXPRESSIONS:  # the same wherever it stands
                if c not in new:
                    new[c] = self.expression(c[0], depth)
                return new[c]
            if c in "nm":
                return str(getattr(self, c))
            if c == "C":
                return self.draw.choice(NUMBERS)
            if c not in new:
                new[c] = f"{c}{self.count}"
                self.count += 1
            return new[c]

        return _HOLE.sub(fill, template)

    def grow(self, wanted: int) -> None:
        """Write statements that run."""
        for _ in range(30 * wanted):
            try:
                lines = self.filled(self.draw.choice(_STATEMENTS), 0, {}).split("\n")
            except LookupError:
                continue
            if self.look([*self.lines, *["    " + line for line in lines]]):
                self.lines += ["    " + line for line in lines]
                wanted -= 1
                if not wanted:
                    return

    def result(self) -> str:
        """Return the text of a result: the last values, one or several, or a number that they are reduced to."""
        names = [
            k
            for k, v in self.values.items()
            if isinstance(v, (float, np.floating, np.ndarray)) and k[-1].isdigit()
        ]
        chosen = names[-1:] + self.draw.sample(
            names[:-1], min(len(names) - 1, self.draw.choice([0, 1, 1, 2, 3]))
        )
        if len(chosen) == 1:
            return self.draw.choice(["{0}", "{0}", "np.sum({0})", "np.mean({0} ** 2)"]).format(*chosen)
        if self.draw.random() < 0.2:
            return "{" + ", ".join(f"{k!r}: {k}" for k in chosen) + "}"
        return ", ".join(chosen)


def _is_moderate(x: Any) -> bool:
    return np.size(x) <= LARGEST and bool(np.all(np.abs(np.asarray(x, float)) < 1e4))


def program(seed: Any, longest: int = 5) -> Program:
    """Return the program that a seed names, of so many statements at most."""
    draw = random.Random(f"model {seed}")
    while True:
        writer = _Writer(draw)
        writer.grow(draw.randint(2, longest))
        if any(
            k[-1].isdigit() and isinstance(v, (float, np.floating, np.ndarray))
            for k, v in writer.values.items()
        ):
            return Program(
                "\n".join([writer.head, *writer.lines, f"    return {writer.result()}"]), writer.args
            )


def faults(
    p: Program,
    seed: Any,
    strategies: Sequence[str] = ("default", "eager"),
    further: bool = False,
    **options: Any,
) -> Iterator[str]:
    """Yield what is wrong with a program after rewriting: a value, a derivative, that it raises.

    `further` derivatives are the second ones, along the same direction.
    """
    f, numbers = p.function, np.random.default_rng(random.Random(f"direction {seed}").getrandbits(32))
    along = [_drawn(x, numbers) for x in p.args]
    argnums = tuple([i for i, d in enumerate(along) if d is not None])
    with alarmed():
        plain = f(*copy.deepcopy(p.args))
        near = [f(*_moved(p.args, along, s * 1e-15)) for s in (1, -1)]
        if any(
            not _agree(x, y, 1e-8)
            for other in near
            for x, y in zip(_leaves(other), _leaves(plain), strict=True)
        ):
            return
        exact = all(np.asarray(x).dtype != np.float32 for x in _leaves(plain)) and "float32" not in p.text
        scalar = _total(f, numbers)
        slope, curvature = _slopes(scalar, p.args, along) if exact else (None, None)
        for how in strategies:
            options["strategy"] = how
            try:
                value = rg.stabilize(f, **options)(*p.args)
                for x, y in zip(_leaves(value), _leaves(plain), strict=True):
                    if not _agree(x, y, 1e-6 if exact else 1e-4):
                        yield f"{how}: value {x!r} where NumPy has {y!r}"
                if slope is None:
                    continue
                gradient = rg.grad(scalar, argnums=argnums, **options)
                found, size = _dot(gradient(*p.args), along)
                if not abs(found - slope) <= 1e-5 * abs(slope) + 1e-6 * size:
                    yield f"{how}: slope {found!r} where differences give {slope!r}"
                if not further or curvature is None:
                    continue
                second = rg.grad(
                    lambda *args, g=gradient: _dot(g(*args), along)[0], argnums=argnums, **options
                )
                found, size = _dot(second(*p.args), along)
                if not abs(found - curvature) <= 1e-3 * abs(curvature) + 1e-4 * size:
                    yield f"{how}: curvature {found!r} where differences give {curvature!r}"
            except Exception as error:
                yield f"{how}: raises {type(error).__name__}: {str(error)[:400]}"


def _leaves(x: Any) -> list[Any]:
    if isinstance(x, dict):
        return [leaf for v in x.values() for leaf in _leaves(v)]
    return [leaf for v in x for leaf in _leaves(v)] if isinstance(x, (tuple, list)) else [x]


def _total(f: Callable[..., Any], numbers: np.random.Generator) -> Callable[..., Any]:
    """Return the sum of the floats of a function's result, weighed."""
    weights = numbers.normal(size=LARGEST)

    def total(*args: Any) -> Any:
        parts = [x for x in _leaves(f(*args)) if np.result_type(x).kind == "f"]
        return sum([np.sum(x * weights[: np.size(x)].reshape(np.shape(x))) for x in parts]) + 0.0

    return total


def _drawn(x: Any, numbers: np.random.Generator) -> Any:
    """Return a direction for an argument; None for integers and masks."""
    if isinstance(x, dict):
        return {k: _drawn(v, numbers) for k, v in x.items()}
    return numbers.normal(size=np.shape(x)) if np.asarray(x).dtype.kind == "f" else None


def _moved(args: Any, along: Any, step: float) -> list[Any]:
    return [_shifted(x, d, step) for x, d in zip(args, along, strict=True)]


def _shifted(x: Any, d: Any, step: float) -> Any:
    if isinstance(x, dict):
        return {k: _shifted(v, d[k], step) for k, v in x.items()}
    moved = x if d is None else x + step * d
    return float(moved) if isinstance(x, float) else moved


def _dot(cotangents: Any, along: Sequence[Any]) -> tuple[Any, Any]:
    """Return a derivative along a direction, and how large what it is made of may be."""
    pairs = list(
        zip(_leaves(list(cotangents)), [d for d in _leaves(list(along)) if d is not None], strict=True)
    )
    parts = [g * d for g, d in pairs]
    return sum([np.sum(q) for q in parts]), 1e-3 + sum([np.sum(np.abs(q)) for q in parts])


def _agree(value: Any, truth: Any, tolerance: float) -> bool:
    a, b = np.asarray(value), np.asarray(truth)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    scale = np.max(np.abs(b), initial=0) if b.dtype.kind == "f" else 0
    return bool(np.allclose(a, b, rtol=tolerance, atol=tolerance * scale + 1e-14, equal_nan=True))


def _slopes(
    f: Callable[..., Any], at: Sequence[Any], along: Sequence[Any]
) -> tuple[float | None, float | None]:
    """Return two derivatives along a direction; None where two steps do not agree on it, as at a kink."""
    firsts, seconds = [], []
    for step in (2e-3, 7e-4):
        middle, *ends = [float(f(*_moved(at, along, s * step))) for s in (0, 1, -1, 2, -2)]
        firsts.append((8 * (ends[0] - ends[1]) - (ends[2] - ends[3])) / (12 * step))
        seconds.append((16 * (ends[0] + ends[1]) - (ends[2] + ends[3]) - 30 * middle) / (12 * step**2))
    return _settled(firsts, 1e-6), _settled(seconds, 1e-4)


def _settled(found: Sequence[float], tolerance: float) -> float | None:
    one, other = found
    good = np.isfinite(one) and abs(one - other) <= tolerance * (abs(other) + 1e-1)
    return other if good else None
