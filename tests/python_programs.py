"""Python programs that branch, loop and write: transformed, they answer what plain Python and NumPy answer.

Programs are statements over arrays, numbers and booleans: buffers that are filled, entry by entry, by slices, masks and
integer arrays, through views, aliases, rows of a loop, helpers and closures; reads between the writes; `if`, `while`,
`for`, comprehensions and built-in functions that ask what values are; integers that count, index and choose.
A seed names a program and several tuples of arguments of one signature, which take different branches of it. One
transformed function is called with each, and with the first again at the end.
"""

from __future__ import annotations

import copy
import math
import random
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import relgrad as rg

# In a template $S is a number, $V a vector, $M a matrix, $I an integer, $B a truth value, $K an integer array and $Q a
# mask, all as expressions; $W and $X are vectors and matrices to write to, $N is an extent, $C a number that is written
# out, $i an index, $j a slice, $v a name that is new, $s, $k, $l and $w names of numbers, integers, lists and arrays.
NUMBER = """
$C | $C | $s | $s | $s | $W[$i] | $V[$i] | $M[$i, $i] | $V.sum() | np.sum($V) | np.max($V) | $V.min()
np.mean($M) | $S + $S | $S - $S | $S * $C | -$S | abs($S) | np.sin($S) | math.cos($S) | np.tanh($S)
math.exp(-abs($S)) | max($S, $S) | min($S, $S, 1.5) | max($V) | min($V) | sum($V) | sum([$S, $S])
sum(v for v in $V if v > $S) | ($S if $B else $S) | float($I) | $I / 2 | $I * $C | sorted($V)[$i]
np.where($B, $S, $S) | $S / (1 + $S**2) | round($S) + $S | np.float64($C) | $V @ $V | $V[np.argmax($V)]
$V[int(np.argmin($V))] | len($V) * $S | $S % 1.5 | $S // 0.7 | math.floor($S) * $S | int($S) + $S
$V[$V > $S].sum() | $V[$Q].size + $S | [$S, $S, $S][$I % 3] | ($S, $S)[$B] | {0: $S, 1: $S}[$I % 2]
np.sum([$S, $S]) | $S**($I % 3) | math.sqrt(abs($S)) | np.linalg.norm($V) | $S * $B | np.dot($V, $V)
np.ptp($V) | $V.item($i) | next((v for v in $V if v > $S), $S) | max($V, key=abs)
min([$S, $S], key=lambda v: (v - $S)**2) | np.median($V) | functools.reduce(lambda a, b: a * $C + b, $V)
$V.tolist()[$i] | (lambda a, b=$S: a - b)($S) | math.hypot($S, $S) | np.copysign($S, $S) | math.fmod($S, 1.25)
np.clip($S, -1, 1) | divmod($S, 0.75)[1] | np.prod($V) | $V.std() | 1.5 | -0.5 | np.nanmax($V)
statistics.median($V) | math.dist([$S, $C], [$C, $S])
math.ldexp($S, 2) | $S if math.isclose($S, $C, abs_tol=1.0) else $C | np.subtract.reduce($V)
$V[:1 + $I % 2].sum() | np.percentile($V, 50) | np.count_nonzero($V > $S) * $S | $V.dot($V) | $V[-1]
"""
VECTOR = """
$w1 | $w1 | $w1 | $W | $V + $V | $V * $S | $V - $S | $V * $V | np.sin($V) | np.tanh($V) | -$V | abs($V) | $M[$i]
$M[:, $i] | $M.T[$i] | $V[::-1] | np.array([$S] * $N) | np.full($N, $S) | np.zeros($N) | np.ones_like($V)
np.where($V > $S, $V, $S) | np.where($Q, $V, -$V) | np.array([v * 2 if v > $S else -v for v in $V])
$M.sum(axis=$a) | $M.mean(axis=$a) | $M @ $V | np.sort($V) | np.cumsum($V) | np.maximum($V, $S)
np.minimum($V, $V) | np.clip($V, -1, $S) | $V[np.argsort($V)] | $V.copy() | np.arange($N) * $S
np.linspace(0, 1, $N) | $V / (1 + $V**2) | np.roll($V, $I % 3) | np.diff($V, append=$S) | $M.ravel()[:$N]
$V[$K % len($V)] | np.take($V, $K, mode='wrap') | np.array(sorted($V)) | np.array(list(reversed($V)))
$M.max(axis=$a) | np.array([a - b for a, b in zip($V, $V)]) | np.array([i * v for i, v in enumerate($V)])
np.concatenate([$V[1:], $V[:1]]) | np.hstack([[$S], $V[1:]]) | $V - $V.mean() | np.eye($N)[$i] * $S
np.diag(np.outer($V, $V)) | np.array(list(map(math.sin, $V))) | np.array([*$V]) | np.asarray([$S for _ in $V])
np.float32($V) | $V.astype(np.float32) | $V.astype(int) | np.floor($V) | np.cumsum($V)[::-1]
($V if $B else $V) | $V[$Q] | np.flip($V) | np.append($V[:-1], $S) | np.repeat($S, $N) | $V.clip(0)
np.sign($V) * $V | np.array([f_ for f_ in $V if f_ > $S]) | np.square($V)
$V.round(1) | np.add.outer($V, $V)[$i] | np.piecewise($V, [$V < 0, $V >= 0], [lambda v: -v, lambda v: v * $C])
np.stack([$V, $V])[$I % 2] | np.unique($V) | np.einsum('i,i->i', $V, $V)
np.apply_along_axis(lambda r: r * $C, 0, $V) | np.vectorize(lambda v: v * $C if v > 0 else v)($V)
np.array([[$S, $S], [$S, $S]])[:, $I % 2] | $V[np.nonzero($V > $S)] | np.extract($Q, $V) | np.compress($Q, $V)
$V[range(len($V))] | np.add.reduceat($V, [0, 1]) | np.maximum.reduceat($V, [0, -1 % len($V)]) | np.hypot.reduce($M)
np.pad($V, (1, 2), mode='mean') | np.pad($V, 1, mode='linear_ramp', end_values=$S) | np.pad($V, 1, mode='maximum')
np.pad($V, 1, mode='median', stat_length=2) | np.pad($V, 1, mode='symmetric', reflect_type='odd')
np.linspace($S, $C, $N)
"""
MATRIX = """
$x1 | $x1 | $X | $M + $M | $M * $S | $M.T | np.outer($V, $V) | $M + $V | np.sin($M) | $M.copy() | np.eye($N)
np.zeros(($N, $N)) | np.array([$V, $V]) | np.stack([$V, $V]) | np.array([[$S, $S], [$S, 0]])
np.stack([v * r for v, r in zip($V, $M)]) | $M[::-1] | np.vstack([$V, $V]) | $M * $V[:, None]
np.where($M > $S, $M, $S) | np.array([r - r.mean() for r in $M]) | np.diag($V) | $M[np.argsort($M[:, 0])]
np.sort($M, axis=$a) | np.tril($M) | $M @ $M.T | np.reshape($M, (-1, 1)) | $M.reshape(1, -1)
np.tile($V, (2, 1)) | $M[:, ::-1] | np.full(($N, $N), $S) | np.concatenate([$M, $M]) | np.column_stack([$V, $V])
np.ones_like($M) | np.cumsum($M, axis=$I % 2) | np.swapaxes($M, 0, 1)
np.array([[a * b for a in $V] for b in $V]) | $M - $M.mean(axis=$a, keepdims=True)
"""
INTEGER = """
$k | $k | 0 | 1 | 2 | len($V) | $V.size | $M.shape[$a] | int(np.floor($S)) | int($S) | int(abs($S) * 2)
$I + $I | $I - $I | $I * 2 | $I // 2 | $I % 3 | -$I // 2 | -$I % 4 | max($I, 1) | min($I, 2) | abs($I)
np.argmax($V) | np.argmin($V) | int(np.argmax($V)) | np.count_nonzero($V > $S) | sum(1 for v in $V if v > $S)
round($S) | math.floor($S) | math.ceil($S) | np.sum($V > $S) | len([v for v in $V if v > $S])
($I if $B else $I) | int($B) | int($B) + int($B) | bool($I) + 1 | $K[$i] | $K.sum() | len($l) | $I ** 2
sum([$B, $B, $B]) | np.searchsorted(np.sort($V), $S) | [1, 0, 2][$I % 3] | np.unique($K).size
len(set([$I, $I])) | $I & 3 | $I ^ 1 | ($V > $S).sum() | len(np.nonzero($V > $S)[0]) | len(np.unique($V)) | -$I
~$I | sorted([$I, $I, 1])[1] | 1 << ($I % 3)
"""
TRUTH = """
$S > $S | $S < $S | $S >= $C | $S <= $C | $S == $S | $S != $S | $I > 1 | $I == $I | $I % 2 == 0 | $C < $S < $C
not $B | $B and $B | $B or $B | any($V > $S) | all($V > $S) | np.any($V > $S) | ($V > $S).all()
np.all($M > $S) | $V[$i] > $V[$i] | $I in (0, 2) | $I in [1, $I] | len($V) > 2 | bool($I) | $Q[$i]
np.allclose($V, $V) | any(v > $S for v in $V) | $S > 0 > $S | np.array_equal($V, $V) | abs($S) < 1 | $V.any()
$S is not None | isinstance($S, float) | (True if $B else $I > 0) | 0 <= $I < 3 | $B != $B | $B == $B | $B ^ $B
$B & $B | np.logical_or($B, $B) | np.isclose($S, $S) | np.isfinite($S) | $V.min() < $S <= $V.max()
"""
INTEGERS = """
np.argsort($V) | np.arange($N) | np.zeros($N, dtype=int) | np.floor($V).astype(int) | ($V > $S).astype(int)
$K + 1 | $K % 2 | $K * $I | np.array([$I] * $N) | np.cumsum($V > $S) | np.where($V > $S, 1, 0)
np.arange($N)[::-1] | $K[::-1] | np.sign($V).astype(int) | np.array([$I, $I]) | np.argsort(-$V) | -$K | $K // 2
np.nonzero($V > $S)[0] | np.flatnonzero($Q) | $k1 | np.int8($K) | np.argmax($M, axis=$a)
np.array([$B, $B]) + 1 | np.bincount(abs($K)) | np.array([int(v) for v in $V])
"""
MASK = """
$V > $S | $V < $V | $V >= 0 | $K == $I | $K % 2 == 0 | ~$Q | $Q & $Q | $Q | ($V > $S) | np.abs($V) > $C
np.isfinite($V) | np.array([v > $S for v in $V]) | np.zeros($N, dtype=bool) | np.arange($N) == $I
np.arange($N) < $I | $q1 | np.logical_not($Q)
"""
MAKE = """
$v = $S | $v = $S | $v = $V | $v = $V | $v = $V | $v = $M | $v = $M | $v = $I | $v = $I | $v = $B | $v = $K
$v = $Q | $v = np.zeros($N) | $v = np.zeros($N) | $v = np.zeros(($N, $N)) | $v = np.full($N, $S)
$v = np.full($N, $I) | $v = np.ones($N, dtype=np.float32) | $v = np.zeros($N, dtype=int)
$v = np.ones($N, dtype=bool) | $v = np.zeros_like($V) | $v = np.full_like($V, $S) | $v = np.eye($N)
$v = np.arange($N) | $v = np.arange($N) * 1.0 | $v = np.linspace(0, 1, $N) | $v = np.array([$S, $C, $I])
$v = np.array([$S, $S]) | $v = $V.copy() | $v = $M.copy() | $v = [$S, $C] | $v = [$S for _ in range(3)]
$v = [v for v in $V if v > $S] | $v = list($V) | $v = $w1 | $v = $W | $v = $W[1:] | $v = $W[::-1] | $v = $W[:$N]
$v = $W[::2] | $v = $X.T | $v = $X[$i] | $v = $X[:, $i] | $v = $X.ravel() | $v = $W.reshape(-1, 1)
$v = $X.reshape(-1) | $v = np.swapaxes($X, 0, 1) | $v = $W[None] | $v = $X[::-1, 1:] | $v = $X[$i:]
$v = np.asarray($W) | $v = np.array($W) | $v = np.ravel($X) | $v = $v = $W[...] | $v = $X[..., $i]
$v = np.atleast_2d($W) | $v = np.squeeze($X) | $v = $X.flatten() | $v = np.array($l) | $v = np.stack($l)
$v = sum($l) | $v = sorted($l) | $v = $l[::-1] | $v = $l * 2 | $v, *_ = $V
$v = $W.astype(int) | $v = np.broadcast_to($W, (2, len($W)))
$v = sum(float(c) * $S for c in str($I) if c.isdigit()) | $v = {$I: $S}.get($I, $C) | $v = divmod($I, 3)[0] * $S
$v = np.zeros($N, dtype=np.int8) | $v = np.array([$I, $I, 200]) | $v = [*filter(lambda v: v > $S, $V)]
$v = np.array([*itertools.accumulate($V)])
"""
WRITE = """
$v = np.empty($N); $v[:] = $S | $v = np.empty_like($V); $v.fill($S) | $W[$i] = $S | $W[$i] = $S | $W[$i] = $S
$W[$i] = $W[$i] + $S | $W[$i] += $S | $W[$i] += $S | $W[$i] *= $C | $W[$i] -= $W[$i] | $W[$j] = $S
$W[$j] = $V[$j] | $W[$j] += $S | $W[$j] *= $V[$j] | $W[1:] = $W[:-1] | $W[:-1] += $W[1:] | $W[::-1] = $W
$W[::2] = $S | $W[$Q] = $S | $W[$Q] += $S | $W[$Q] *= $C | $W[$W > $S] = $S | $W[$W < $S] *= -1
$W[$Q] = $V[$Q] | $W[$K] = $S | $W[$K] += $S | $W[$K % len($W)] = $V | $W[[0, -1]] = $S | $W[[0, 0]] += $S
$W[[0, 0]] = [$S, $S] | $W[:] = $V | $W[...] = $S | $W[...] *= $V | $W += $V | $W -= $S | $W *= $C
$W /= 1 + abs($S) | $W **= 2 | $W //= 2 | $W %= 3 | $W.fill($S) | np.add($V, $V, out=$W)
np.multiply($V, $S, $W) | np.add($W, $S, out=$W, where=$Q) | np.copyto($W, $V) | np.copyto($W, $S, where=$Q)
$W.sort() | np.add.at($W, $K, $S) | np.add.at($W, $K % len($W), $V) | np.maximum.at($W, $K % len($W), $S)
np.put($W, $i, $S) | $W[$W.argmax()] = $S | np.subtract.at($W, [0, 0], $S) | np.putmask($W, $Q, $V)
np.place($W, $Q, [$S, $S]) | np.clip($W, -1, $S, out=$W) | $W[int(np.argmin($W))] += $S | $X[$i, $i] = $S
$X[$i, $i] += $S | $X[$i][$i] = $S | $X[$i][$i] += $S | $X[$i] = $V | $X[:, $i] = $V | $X[$i] += $V
$X[$i, :] *= $C | $X[:, $i] += $S | $X[$j, $i] = $S | $X[$j] = $S | $X[:, 1:] += $S | $X[:, ::-1] = $X
$X += $V | $X *= $C | $X.T[$i] = $S | $X.T[...] += $S | $X[$X > $S] = $S | $X[$M > $S] *= 2 | $X[$Q] = $V
$X[$K, $i] = $S | $X[[0, 0]] += 1 | $X[$i, $Q] = $S | $X[...] = $S | $X.flat[$i] = $S | $X[-1, ...] -= $S
$X[np.arange($N), np.arange($N)] = $V | np.fill_diagonal($X, $S) | $X[0], $X[1] = $X[1], $X[0]
$W[0], $W[-1] = $W[-1], $W[0] | $X[[0, 1]] = $X[[1, 0]] | np.einsum('ii->i', $X)[:] = $S | $X.ravel()[$i] = $S
$X.reshape(-1)[$i] = $S | $W[$i:] -= $W[$i] | $X.sum(0, out=$W) | $l.append($S) | $l[$i] = $S | $l[0] += $S
$l.append($W) | $l.append($W.copy()) | $l += [$S] | $l.insert(0, $S) | $l.sort() | $l.reverse() | $l.pop()
del $l[0] | $v = {'a': $W, 'b': $S}; $v['a'][$i] = $S | $v = [$W, $V]; $v[0][$i] += $S
$v = ($W, $X); $v[1][$i] = $S | $s += $S | $s *= $C | $s = $S | $k += 1 | $k = $I | $k = $k % 3 | $s -= $W[$i]
$v = $W; $v += $S | $v = $W; $v = $v + $S; $v[$i] = $S | $v = $W[$i]; $W[$i] = $S | $v = $X[$i]; $X[$i] = $S
$v = $W.copy(); $W[$i] = $S | $v = copy.deepcopy($W); $v *= 2 | $v = copy.copy($W); $v[$i] = $S
$v = $W + 0; $v[$i] = $W[$i] | $v = $W.T; $v[$i] = 0 | $W[$Q], $W[$i] = $S, $S | $v = [0.0] * $N; $v[$i] = $S
$v = $W.astype(float, copy=False); $v[0] = $S | $W[1:][$i] = $S | $v = np.array([$W, $V]); $v[0, $i] = $S
$v = np.array([[$S, 0], [0, $C]]); $v[$i] += 1
$v = {k: v for k, v in enumerate($V) if v > $S}; $v = sum($v.values()) | $v = $W; $w2 = $v; $w2[$i] = $S
$v = np.split($X, 2)[$I % 2]; $v += $S | $v = $W.max(); $W[$i] = $v
$v = f'{$I}' + ('a' if $B else 'b'); $s = len($v) * $S
$v = 'big' if $S > 1 else 'small'; $v = {'big': $S, 'small': $C}[$v] | $v = list(zip(*[$V, $V])); $v = $v[$i][1]
$v = np.nonzero($V > $S)[0]; $v = $v.sum()
"""
COMPOUND = r"""
if $B:\n$b | if $B:\n$b\nelse:\n$b | if $B:\n$b\nelif $B:\n$b\nelse:\n$b | for $n in range($N):\n$b
for $n in range(len($V)):\n$b | for $n in range($I % 4):\n$b | for $u in $V:\n$b
for $r in $X:\n    $r += $S\n$b | for $r in $X:\n    $r[$i] = $S\n$b | for $n, $u in enumerate($V):\n$b
for $n in range(len($W)):\n    $W[$n] = $W[$n - 1] + $S\n$b
for $n in range(1, len($W)):\n    $W[$n] += $W[$n - 1] * $C | $v = 0\nwhile $v < 3 and ($B):\n    $v += 1\n$b
$v = 0\nwhile $v < 4:\n    $v += 1\n    if $B:\n        break\n$b | for $u, $t in zip($V, $V):\n$b
$v = $S\n$c = 0\nwhile abs($v) > 0.3 and $c < 5:\n    $v *= 0.5\n    $c += 1\n$b
for $n in range($N):\n    if $B:\n        continue\n$b
def $h(a, b=$S):\n    return a * b if a > b else b - a\n$v = $h($S)
def $h(a):\n    a[$i] = $S\n    return a\n$v = $h($W) | def $h(i, z):\n    $W[i] = z\n$h($i, $S)\n$h($i, $S)
def $h():\n    $W[$i] += $S\n$h()\n$h() | def $h(a):\n    a = a + $S\n    a[$i] = 0\n    return a\n$v = $h($W)
def $h(a):\n    if a.sum() > $S:\n        return a\n    a *= 2\n    return a + 1\n$v = $h($W)
def $h(n, a):\n    return a if n <= 0 else $h(n - 1, a * $C + 1)\n$v = $h($I % 4, $S)
$v = []\nfor $u in $V:\n    if $u > $S:\n        $v.append($u * $C)\n$v = np.array($v)
$v = []\nfor $n in range($N):\n    $v.append($W * $n)\n    $W[$i] = $S\n$v = np.stack($v)
$v = $W\nfor $n in range(3):\n    $v = $v + $W\n    $W[$n % len($W)] = $v[$i]
try:\n    $v = [*$V][$I]\nexcept IndexError:\n    $v = $S | if $B:\n    return $R
for $n in range(len($X)):\n    for $m in range(len($X[$n])):\n        $X[$n, $m] = $S * ($n + $m)
for $n in $K:\n    $W[$n % len($W)] += $S | for $n in np.argsort($V):\n    $W[$n] = $S
def $h():\n    yield $S\n    $W[$i] = $S\n    yield $W[$i]\n$v = list($h())
$v = {}\nfor $n, $u in enumerate($V):\n    $v.setdefault($u > $S, []).append($u)\n$v = sum($v.get(True, [0.0]))
def $h(a, acc=[]):\n    return a + $S\n$v = $h($W)
class $H:\n    def put(self, i, z):\n        self.a[i] = z\n$v = $H()\n$v.a = $W\n$v.put($i, $S)\n$v = $v.a
for $r in $X.T:\n    $r *= $S\n$b | $v = iter($V)\n$v = next($v) + next($v, $S)
match $I % 3:\n    case 0:\n$b2\n    case _:\n$b2
"""
NUMBERS = ["0.5", "1.5", "2.0", "-1.0", "0.25", "3.0", "0", "1", "-0.75", "2"]
INDICES = [
    "0",
    "0",
    "-1",
    "1",
    "-2",
    "2",
    "$I % 2",
    "$I % len(x0)",
    "int(np.argmax($V))",
    "$I",
    "np.argmin($V)",
    "-$I",
]
SLICES = ["1:", ":-1", "::2", "1:3", ":2", "::-1", ":", "-2:", ":$I", "$I:", "0:0", "::-2", "$I % 2:"]
DEPTH = 3
_NARROW, _PYTHONS = ("float32", "int8"), ("math", ".tolist", ".item", "float(")
"""What makes narrow dtypes, and Python numbers of traced ones."""
LARGEST = 60


def _templates(text: str) -> list[str]:
    return [t.strip().replace("\\n", "\n") for line in text.strip().splitlines() for t in line.split(" | ")]


_EXPRESSIONS = {
    "S": _templates(NUMBER),
    "V": _templates(VECTOR),
    "M": _templates(MATRIX),
    "I": _templates(INTEGER),
    "B": _templates(TRUTH),
    "K": _templates(INTEGERS),
    "Q": _templates(MASK),
}
_MAKE, _WRITE, _COMPOUND = _templates(MAKE), _templates(WRITE), _templates(COMPOUND)
_LAST = {"S": "$s", "V": "$w1", "M": "$x1", "I": "$k", "B": "$S > $C", "K": "np.arange($N)", "Q": "$w1 > $C"}
"""What expressions end with where they are nested deeply."""


class Program(NamedTuple):
    """The text of a function `f`, and tuples of arguments that it is called with, one after the other."""

    text: str
    calls: tuple[tuple[Any, ...], ...]

    @property
    def function(self) -> Callable[..., Any]:
        """The function itself; each time another object, which nothing is known of."""
        return _executed(self.text)["f"]


def _executed(text: str) -> dict[str, Any]:
    space: dict[str, Any] = {"__name__": "written"}
    exec("import copy, functools, itertools, math, statistics\nimport numpy as np\n" + text, space)
    return space


class _Seen(Exception):
    """Ends a program that is looked at in the middle."""


class _Writer:
    """A program while it is written, statement by statement: each runs before the next is drawn."""

    def __init__(self, draw: random.Random):
        self.draw = draw
        self.numbers = np.random.default_rng(draw.getrandbits(32))
        self.extent = draw.choice([1, 2, 2, 3, 3, 3, 4])
        self.strong = draw.random() < 0.4
        """Whether numbers are NumPy's: Python's, which promote otherwise, do not meet narrow dtypes."""
        self.calls = self._calls()
        self.names = [f"x{i}" for i in range(len(self.calls[0]))]
        self.lines: list[str] = []
        self.count = 0
        self.values: dict[str, Any] = {}
        self.writable: set[str] = set()
        self.looked = self._look(self.lines)

    def _calls(self) -> list[tuple[Any, ...]]:
        n, draw = self.extent, self.draw
        shapes: list[Any] = [(n,), (n,), (n,), (n, n), (2, n), (n, 2), (0,), (), (2, 2, n), (3,)]
        kinds = [
            "first",
            *draw.choices(
                ["float", "float", "array", "int", "bool", "ints", "float32"], k=draw.choice([0, 1, 1, 2])
            ),
        ]
        made = [(kind, (n,) if kind == "first" else draw.choice(shapes)) for kind in kinds]
        calls = [tuple([self._argument(*m) for m in made]) for _ in range(draw.choice([2, 3, 3, 4]))]
        if draw.random() < 0.3:
            calls.append(
                tuple(
                    [
                        np.logical_not(x) if isinstance(x, np.bool_) else not x if type(x) is bool else -x
                        for x in calls[0]
                    ]
                )
            )
        return calls

    def _argument(self, kind: str, shape: tuple[int, ...]) -> Any:
        draw = self.draw
        x = self.numbers.normal(size=shape)
        if draw.random() < 0.25:  # ties, and zeros
            x = np.round(2 * x) / 2
        if kind == "int":
            return (np.int64 if self.strong else int)(draw.choice([0, 1, 1, 2, 3, -1]))
        if kind == "bool":
            return (np.bool_ if self.strong else bool)(draw.random() < 0.5)
        if kind == "float":
            value = draw.choice([draw.gauss(0, 1), draw.gauss(0, 1), 0.5, 1.0])
            return (np.float64 if self.strong else float)(value)
        if kind == "ints":
            return self.numbers.integers(-1, 4, size=shape)
        return np.asarray(x, np.float32 if kind == "float32" and self.strong else float)

    def _look(self, lines: Sequence[str]) -> bool:
        """Run lines with the first arguments; keep what there is at their end, unless they fail."""
        found: dict[str, Any] = {}

        def look(space: dict[str, Any]) -> None:
            found.update(space)
            raise _Seen

        text = "\n".join([f"def f({', '.join(self.names)}):", *lines, "    _look(locals())"])
        args = copy.deepcopy(self.calls[0])
        try:
            space = _executed(text)
            space["_look"] = look
            with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
                warnings.simplefilter("error")
                space["f"](*args)
        except _Seen:
            pass
        except Exception:
            return False
        if not found or not all(map(_is_moderate, found.values())):
            return False
        self.values = found
        arrays = {k: v for k, v in found.items() if isinstance(v, np.ndarray) and v.size <= LARGEST}
        self.writable = {
            k
            for k, v in arrays.items()
            if v.flags.writeable
            and not any(np.shares_memory(v, a) for a in args if isinstance(a, np.ndarray))
        }
        return True

    def named(self, test: Callable[[str, Any], bool]) -> str:
        """Return a name of a value that passes a test; raises LookupError where there is none."""
        found = [k for k, v in self.values.items() if test(k, v)]
        if not found:
            raise LookupError
        late = found[-3:]
        return self.draw.choice([*found, *late])

    def drawn(self, templates: Sequence[str]) -> str:
        """Draw a template that fits the numbers of the program."""
        while True:
            template = self.draw.choice(templates)
            if not any(word in template for word in (_PYTHONS if self.strong else _NARROW)):
                return template

    def expression(self, kind: str, depth: int) -> str:
        """Return the text of an expression of a kind."""
        template = self.drawn(_EXPRESSIONS[kind]) if depth < DEPTH else _LAST[kind]
        if depth and self.draw.random() < 0.4:
            template = _LAST[kind]
        text = self.filled(template, depth + 1)
        return text if depth == 0 or re.fullmatch(r"[\w.]+", text) else f"({text})"

    def filled(self, template: str, depth: int = 0, new: dict[str, str] | None = None) -> str:
        """Return a template with its holes filled."""
        new = {} if new is None else new

        def fill(hole: re.Match[str]) -> str:
            return self.hole(hole[1], depth, new)

        return re.sub(r"\$(\w\d?)", fill, template)

    def hole(self, c: str, depth: int, new: dict[str, str]) -> str:
        draw = self.draw
        if c in _EXPRESSIONS:
            return self.expression(c, depth)
        match c:
            case "C":
                return draw.choice(NUMBERS)
            case "N":
                return draw.choice([str(self.extent), str(self.extent), "len(x0)", "2", "x0.shape[0]"])
            case "a":
                return draw.choice(["0", "1", "-1"])
            case "i":
                return self.filled(draw.choice(INDICES), depth + 1)
            case "j":
                return self.filled(draw.choice(SLICES), depth + 1)
            case "v" | "n" | "m" | "u" | "t" | "r" | "h" | "H" | "c":
                if c not in new:
                    new[c] = f"{c}{self.count}"
                    self.count += 1
                return new[c]
            case "W" | "w" | "w2":
                return self.named(lambda k, v: k in self.writable and v.ndim == 1 and v.dtype.kind in "fib")
            case "X":
                return self.named(lambda k, v: k in self.writable and v.ndim == 2 and v.dtype.kind in "fib")
            case "w1":
                return self.named(lambda k, v: isinstance(v, np.ndarray) and v.ndim == 1)
            case "x1":
                return self.named(lambda k, v: isinstance(v, np.ndarray) and v.ndim == 2)
            case "s":
                return self.named(lambda k, v: isinstance(v, (float, np.floating)))
            case "k":
                return self.named(lambda k, v: isinstance(v, (int, np.integer)) and type(v) is not bool)
            case "l":
                return self.named(lambda k, v: isinstance(v, list))
            case "k1":
                return self.named(
                    lambda k, v: isinstance(v, np.ndarray) and v.ndim == 1 and v.dtype.kind == "i"
                )
            case "q1":
                return self.named(
                    lambda k, v: isinstance(v, np.ndarray) and v.ndim == 1 and v.dtype.kind == "b"
                )
            case "R":
                return self.named(lambda k, v: k in self.writable or isinstance(v, float))
        raise AssertionError(c)

    def statement(self, indent: int) -> list[str]:
        """Return the lines of a statement; raises LookupError where a hole cannot be filled."""
        compound = self.draw.random() < (0.4 if indent == 1 else 0.15 if indent < 3 else 0)
        simple = _WRITE if self.writable and self.draw.random() < 0.6 else _MAKE
        template = self.drawn(_COMPOUND if compound else simple)
        new: dict[str, str] = {}
        lines: list[str] = []
        for line in template.split("\n"):
            if line in ("$b", "$b2"):
                # What is new within, at least a loop's variable, can be read in the body; not what `while` counts,
                # which the body could set back, for ever.
                before = dict(self.values)
                kinds: dict[str, Any] = {"n": 1, "m": 1, "u": 1.0, "t": 1.0}
                self.values |= {new[c]: kinds[c] for c in kinds if c in new}
                for _ in range(self.draw.choice([1, 1, 2, 3])):
                    lines += self.statement(indent + (1 if line == "$b" else 2))
                self.values = before
            else:
                lines.append("    " * indent + self.filled(line, 0, new))
        return lines

    def grow(self, longest: int) -> None:
        """Write statements that run."""
        wanted = self.draw.randint(3, longest)
        for _ in range(25 * wanted):
            before = self.values, self.writable, self.count
            try:
                lines = self.statement(1)
            except LookupError:
                self.values, self.writable, self.count = before
                continue
            if self._look([*self.lines, *lines]):
                self.lines += lines
                wanted -= 1
                if not wanted:
                    return
            else:
                self.values, self.writable, _ = before

    def result(self) -> str:
        """Return the text of a result that holds what was written to, and more."""
        good = [k for k, v in self.values.items() if _is_result(v)]
        kept = [k for k in good if k in self.writable or self.draw.random() < 0.5] or good
        self.draw.shuffle(kept)
        kept = kept[:6]
        if len(kept) == 1:
            return kept[0]
        if self.draw.random() < 0.3:
            return "{" + ", ".join(f"{k!r}: {k}" for k in kept) + "}"
        return ", ".join(kept)


def _is_moderate(x: Any) -> bool:
    if isinstance(x, (list, tuple)):
        return len(x) < LARGEST and all(map(_is_moderate, x))
    if isinstance(x, (float, np.floating, np.integer, np.ndarray)) or type(x) is int:
        return bool(np.size(x) <= LARGEST and np.all(np.abs(np.asarray(x, float)) < 1e4))
    return True


def _is_result(x: Any) -> bool:
    if isinstance(x, (list, tuple)):
        return bool(x) and all(map(_is_result, x))
    if isinstance(x, np.ndarray):
        return x.dtype.kind in "fib"
    return isinstance(x, (float, int, np.floating, np.integer, np.bool_))


def program(seed: Any, longest: int = 9) -> Program:
    """Return the program that a seed names: so many statements at most at its top level."""
    draw = random.Random(f"python {seed}")
    while True:
        writer = _Writer(draw)
        writer.grow(longest)
        if len(writer.lines) > 2 and any(_is_result(v) for v in writer.values.values()):
            head = f"def f({', '.join(writer.names)}):"
            text = "\n".join([head, *writer.lines, f"    return {writer.result()}"])
            return Program(text, (*writer.calls, writer.calls[0]))


class Outcome(NamedTuple):
    """What a call gives: its result, or the exception; `changed` tells whether it wrote into its arguments."""

    value: Any
    error: Exception | None
    changed: bool


def outcome(f: Callable[..., Any], args: Sequence[Any]) -> Outcome:
    """Call a function with copies of arguments."""
    given = copy.deepcopy(tuple(args))
    value, error = None, None
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.simplefilter("ignore", rg.ManyBranches)
        try:
            value = copy.deepcopy(f(*given))
        except Exception as raised:
            error = raised
    changed = repr(given) != repr(tuple(args))
    return Outcome(value, error, changed)


def faults(
    p: Program, seed: Any = 0, slopes: bool = True, refusals: list[str] | None = None
) -> Iterator[str]:
    """Yield what is wrong with a program once it is transformed; put what is refused into a list, if one is given."""
    plain = p.function
    wanted = [outcome(plain, args) for args in p.calls]
    for how in ("default", "naive"):
        made = rg.stabilize(p.function, strategy=how)
        for number, (args, want) in enumerate(zip(p.calls, wanted, strict=True)):
            got = outcome(made, args)
            fault = _fault(got, want, how)
            if fault and not is_near(got, plain, args):
                yield f"{how}, call {number}: {fault}"
            if refusals is not None and want.error is None and isinstance(got.error, rg.RelgradError):
                refusals.append(str(got.error))
    if slopes and all(w.error is None and not w.changed for w in wanted):
        yield from _wrong_slopes(p, seed)


def _fault(got: Outcome, want: Outcome, how: str) -> str | None:
    """Return what is wrong with an outcome, if anything is."""
    if got.changed:
        return "the arguments are changed"
    if got.error is not None:
        if isinstance(got.error, rg.RelgradError) or want.error is not None:
            return None
        return f"raises {type(got.error).__name__}: {got.error}"
    if isinstance(want.error, ZeroDivisionError):  # of Python's numbers; NumPy's give inf and NaN
        return None
    if want.error is not None:
        return f"answers {got.value!r} where NumPy raises {type(want.error).__name__}: {want.error}"
    if want.changed:
        return "answers where NumPy changes the arguments"
    return difference(got.value, want.value, 1e-7 if how == "naive" else 1e-6)


def is_near(got: Outcome, plain: Callable[..., Any], args: Sequence[Any]) -> bool:
    """Whether NumPy gives an outcome for arguments of which some differ by a few units in the last place.

    int((1 + x) - x) is 0 or 1 as 1 + x is rounded: a program that does not round there gives 1.
    """
    numbers = np.random.default_rng(0)
    for _ in range(12):
        near = outcome(plain, [_moved(x, numbers) if numbers.random() < 0.5 else x for x in args])
        # What raises next to the arguments excuses no answer, nor another exception.
        if type(near.error) is type(got.error) and not _fault(got, near, "default"):
            return True
    return False


def _moved(x: Any, numbers: np.random.Generator) -> Any:
    """Return floats some units in the last place from others."""
    if np.result_type(x).kind != "f":
        return x
    return _like(np.asarray(x + np.spacing(x) * numbers.integers(-3, 4, np.shape(x)), np.result_type(x)), x)


def difference(got: Any, want: Any, tolerance: float) -> str | None:
    """Return how a result differs from that of NumPy, if it does."""
    if isinstance(want, (tuple, list, dict)):
        if type(got) is not type(want) or len(got) != len(want):
            return f"{got!r} where NumPy has {want!r}"
        keys = list(want) if isinstance(want, dict) else range(len(want))
        found = [difference(got[k], want[k], tolerance) for k in keys]
        return next((f"[{k!r}]{d}" for k, d in zip(keys, found, strict=True) if d), None)
    a, b = np.asarray(got), np.asarray(want)
    if a.dtype != b.dtype or a.shape != b.shape or (a.ndim and type(got) is not np.ndarray):
        return f": {got!r} of {a.dtype} where NumPy has {want!r} of {b.dtype}"
    if b.dtype.kind in "biu":
        return None if np.array_equal(a, b) else f": {got!r} where NumPy has {want!r}"
    if b.dtype == np.float32:
        tolerance = 1e-4
    finite = np.isfinite(b)
    scale = 1 + np.max(np.abs(b[finite]), initial=0)
    good = np.allclose(a[finite], b[finite], rtol=tolerance, atol=tolerance * scale)
    return None if good else f": {got!r} where NumPy has {want!r}"


def _total(f: Callable[..., Any], weights: Sequence[float]) -> Callable[..., Any]:
    """Return the sum of all floats of a function's result, weighed."""

    def total(*args: Any) -> Any:
        sums: list[Any] = []
        work = [f(*args)]
        while work:
            x = work.pop(0)
            if isinstance(x, dict):
                work[:0] = [*x.values()]
            elif isinstance(x, (tuple, list)):
                work[:0] = [*x]
            elif np.result_type(x) == np.float64:
                sums.append(np.sum(x) * weights[len(sums) % len(weights)])
        return sum(sums) + 0.0

    return total


def _wrong_slopes(p: Program, seed: Any) -> Iterator[str]:
    """Yield gradients that differ from difference quotients, where these agree from both sides and for two steps."""
    numbers = np.random.default_rng(random.Random(f"direction {seed}").getrandbits(32))
    argnums = [i for i, x in enumerate(p.calls[0]) if np.result_type(x) == np.float64 and type(x) is not int]
    if not argnums:
        return
    weights = [float(w) for w in numbers.normal(size=5)]
    plain = _total(p.function, weights)
    made = {
        how: rg.value_and_grad(_total(p.function, weights), argnums=tuple(argnums), strategy=how)
        for how in ("default", "naive")
    }
    for number, args in enumerate(p.calls[:-1]):
        # Away from ties: at them the derivative is that of a branch.
        at = [x + 1e-2 * numbers.normal(size=np.shape(x)) if i in argnums else x for i, x in enumerate(args)]
        at = [_like(x, y) for x, y in zip(at, args, strict=True)]
        along = [numbers.normal(size=np.shape(at[i])) for i in argnums]
        slope = _slope(plain, at, argnums, along)
        for how, function in made.items():
            got = outcome(function, at)
            if isinstance(got.error, rg.RelgradError):
                continue
            if got.error is not None:
                want = outcome(plain, at)
                if want.error is None:
                    yield f"{how}, gradient {number}: raises {type(got.error).__name__}: {got.error}"
                continue
            if slope is None:
                continue
            found = float(sum(np.sum(g * d) for g, d in zip(got.value[1], along, strict=True)))
            if how == "naive" and not np.isfinite(found):  # sqrt(0), as it is written
                continue
            if not abs(found - slope) <= 1e-3 * (1 + abs(slope)):
                yield f"{how}, gradient {number}: slope {found!r} where differences give {slope!r}"


def _like(x: Any, y: Any) -> Any:
    """Return a number in the class of another: an array of rank 0, one of NumPy's numbers, or of Python's."""
    return np.asarray(x) if isinstance(y, np.ndarray) else type(y)(x)


def _slope(
    f: Callable[..., Any], at: Sequence[Any], argnums: Sequence[int], along: Sequence[Any]
) -> float | None:
    """Return the derivative along a direction; None where that on one side is not that on the other."""

    def moved(step: float) -> float:
        args = list(at)
        for i, d in zip(argnums, along, strict=True):
            args[i] = _like(args[i] + step * d, args[i])
        got = outcome(f, args)
        return math.nan if got.error is not None else float(got.value)

    middle = moved(0.0)
    found = [(moved(h) - middle) / h for h in (1e-6, -1e-6, 2e-5, -2e-5)]
    good = np.isfinite(found).all() and np.ptp(found) <= 3e-4 * (1 + abs(found[0]))
    return float((found[0] + found[1]) / 2) if good else None
