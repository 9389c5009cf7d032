"""The judge of generality: does relgrad answer well-conditioned questions about programs whose parts cancel?

A *question* is a program (`cancelling_programs`) and what is asked of it: its value near the point where its parts
cancel, its value at that point, its gradient, and the product of its Hessian and a direction. Gradients are those of
the sum of the entries, with the weights that the collection of cases has too.

The truth is the program as written, traced, in ball arithmetic. Derivatives are central differences of it: of
relgrad's pullbacks nothing is believed. At the point itself the truth is the limit that the sides agree on.

The *condition* of an entry t of the truth, in units u of the arguments (`cancelling_programs`), is

    κ = max |t(x + 2⁻¹⁰⁰ u·δ) − t(x)| / (2⁻¹⁰⁰ |t(x)|)

over some random δ of signs; at the point itself the changes are of relative size 2⁻²⁰, and equal numbers stay equal.
An entry counts if κ ≤ 10⁴; a question counts if an entry does. An answer r is right if for each entry that counts

    |r − t| ≤ 64 max(1, κ) ulp(t)        or, where t = 0, also nearby,        |r| ≤ 64·2⁻⁵² max(1, max |t|)

so that NaN is wrong wherever there is a limit. What raises, or takes longer than it may, is wrong. It is worse than
the program as written if that is more accurate by some bits, there and for arguments moved a little: once it may be
by luck.

Source: Higham 2002, Accuracy and stability of numerical algorithms, §1.6.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import flint
import numpy as np
from cancelling_programs import LAWS, Argument, Program, Undrawn, random_program
from cases.case import pattern
from fuzzing import TimeUp, within

import relgrad as rg
from relgrad.accuracy.bits import bits_of_error
from relgrad.accuracy.limit import limits
from relgrad.balls.graph import Enclosure, evaluate, is_settled, nearest
from relgrad.errors import RelgradWarning
from relgrad.ops.arguments import as_balls
from relgrad.trace.trace import trace

KINDS = ("value", "point", "gradient", "hvp")
"""What is asked of a program."""
ULPS = 64
CONDITION = 1e4
"""Entries whose condition is larger are not asked for."""
SECONDS = 20.0
"""So much processor time a first call may take."""
PATIENCE = 6
"""So many times that passes by the clock, on a busy machine, before it is stopped."""
WORSE = 2.0
"""What is wrong, and by so many bits more than as written, here and nearby, is worse."""
BITS = (1024, 2048, 4096)
STEP, NEARBY, ZERO = 150, 100, 250
"""Steps of differences, changes of arguments, and what is zero, as negative powers of two."""
NEIGHBOURS = 3
ATTEMPTS = 1000
MOVES = (-3e-6, -1e-6, 1e-6, 3e-6)
TINY, HUGE = 1e-290, 1e290


class Truth(NamedTuple):
    """What an answer must be: balls, which entries count, and their condition."""

    balls: Any
    counts: Any
    condition: Any


class Answer(NamedTuple):
    """An answer, or an error in its place: whether it is right, how many bits of it are wrong beyond its condition."""

    got: Any
    right: bool
    bits: float


class Verdict(NamedTuple):
    """What became of a question: the answers as written and by relgrad; none if it was not asked."""

    number: int
    kind: str
    program: Program
    truth: Truth | None = None
    written: Answer | None = None
    relgrad: Answer | None = None
    seconds: float = 0.0
    worse: bool = False
    """Whether relgrad is wrong, and more so than the program as written."""

    @property
    def asked(self) -> bool:
        """Whether the question counts."""
        return self.truth is not None


class Subject:
    """A program over the reals: its value, limit, gradient and product of Hessian and direction, with conditions."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.traced = trace(program.function, program.near())
        self.root = self.traced.outputs[0]
        self.weights = pattern(tuple(self.root.type.shape))

    def truth(self, kind: str) -> Truth | None:
        """Return the truth of an answer, or None if nothing of it counts."""
        self.rng = np.random.default_rng(0)  # the same, whatever was asked before
        found = self._limit() if kind == "point" else self._near(kind)
        if found is None:
            return None
        balls, condition = found
        sizes = np.array([abs(nearest(b)) if b.is_finite() else math.nan for b in balls.flat])
        sizes = sizes.reshape(balls.shape)
        counts = (condition <= CONDITION) & ((sizes == 0) | ((sizes > TINY) & (sizes < HUGE)))
        return Truth(balls, counts, condition) if counts.any() else None

    def _near(self, kind: str) -> tuple[Any, Any] | None:
        arguments = self.program.arguments
        for bits in BITS:
            with flint.ctx.workprec(bits):
                base = [as_balls(a.near) for a in arguments]
                balls = self._asked(kind, base, bits)
                if not all(is_settled(b) for b in balls.flat):
                    continue
                condition = np.zeros(balls.shape)
                for _ in range(NEIGHBOURS):
                    moved = [
                        as_balls(b + as_balls(a.unit * self._signs(a)) * _power(NEARBY))
                        for a, b in zip(arguments, base, strict=True)
                    ]
                    change = self._asked(kind, moved, bits)
                    condition = np.maximum(condition, _relative(change, balls, _power(NEARBY)))
                return balls, condition
        return None

    def _signs(self, a: Argument) -> Any:
        return self.rng.choice([-1.0, 1.0], np.shape(a.near))

    def _asked(self, kind: str, base: Sequence[Any], bits: int) -> Any:
        if kind == "value":
            return _rounded(self._value(base, bits))
        sizes = [a.unit for a in self.program.arguments]
        least = min(float(np.min(u)) for u in sizes)
        along = [as_balls(as_balls(pattern(b.shape) * least) * _power(STEP)) for b in base]
        slopes = []
        for i, place in ((i, p) for i, b in enumerate(base) for p in np.ndindex(b.shape)):
            step = flint.arb(float(sizes[i][place])) * _power(STEP)
            up, down = _moved(base, i, place, step), _moved(base, i, place, -step)
            if kind == "gradient":
                slopes.append((self._sum(up, bits) - self._sum(down, bits)) / (2 * step))
                continue
            mixed = [
                self._sum([as_balls(b + v * sign) for b, v in zip(side, along, strict=True)], bits)
                for side in (up, down)
                for sign in (1, -1)
            ]
            slopes.append(
                (mixed[0] - mixed[1] - mixed[2] + mixed[3]) / (4 * step * flint.arb(least) * _power(STEP))
            )
        return _rounded(np.array(slopes, dtype=object))

    def _value(self, base: Sequence[Any], bits: int) -> Any:
        return evaluate([self.root], dict(zip(self.traced.inputs, base, strict=True)), bits)[0]

    def _sum(self, base: Sequence[Any], bits: int) -> Any:
        entries = zip(self._value(base, bits).flat, np.ravel(self.weights), strict=True)
        return sum((b * float(w) for b, w in entries), flint.arb(0))

    def _limit(self) -> tuple[Any, Any] | None:
        if not self.program.pointed:
            return None
        arguments = self.program.arguments

        def at(values: Sequence[Any]) -> Enclosure:
            return limits([self.root], dict(zip(self.traced.inputs, values, strict=True)))[0]

        found = at([a.at for a in arguments])
        if not found.settled.all():
            return None
        condition = np.zeros(found.balls.shape)
        for _ in range(NEIGHBOURS):
            signs: dict[float, float] = {}

            def moved(x: float, unit: float, signs: dict[float, float] = signs) -> float:
                return x + unit * 2.0**-20 * signs.setdefault(x, self.rng.choice([-1.0, 1.0]))

            change = at([np.vectorize(moved, otypes=[float])(a.at, a.at_unit) for a in arguments])
            if not change.settled.all():
                return None
            with flint.ctx.workprec(BITS[0]):
                condition = np.maximum(condition, _relative(change.balls, found.balls, _power(20)))
        return found.balls, condition


def _power(n: int) -> Any:
    return flint.arb(2) ** -n


def _rounded(balls: Any) -> Any:
    """Return balls with zeros in the place of what lies below all units."""
    rounded = np.frompyfunc(lambda b: flint.arb(0) if b.abs_upper() < _power(ZERO) else b, 1, 1)
    return np.asarray(rounded(as_balls(balls)), dtype=object)


def _relative(change: Any, balls: Any, step: Any) -> Any:
    def one(x: Any, y: Any) -> float:
        if not (x.is_finite() and y.is_finite()):
            return math.inf
        if y == 0:
            return 0.0 if x == 0 else math.inf
        return float((abs(x - y) / abs(y) / step).mid())

    return np.asarray(np.frompyfunc(one, 2, 1)(change, balls), dtype=float)


def _moved(base: Sequence[Any], i: int, place: tuple[int, ...], step: Any) -> list[Any]:
    moved = list(base)
    moved[i] = base[i].copy()
    moved[i][place] += step
    return moved


def judged(got: Any, truth: Truth) -> Answer:
    """Return whether an answer is right, and the most bits by which an entry is wrong beyond its condition."""
    got = np.asarray(got)
    if got.shape != truth.balls.shape or got.dtype != np.float64:
        return Answer(got, False, 64.0)
    with np.errstate(all="ignore"):
        bits = bits_of_error(got, Enclosure(truth.balls, truth.counts))
        bits -= np.log2(np.maximum(truth.condition, 1.0))
    largest = max([abs(nearest(b)) for b in truth.balls.flat if b.is_finite()])
    zero = np.array([b == 0 for b in truth.balls.flat], dtype=bool).reshape(bits.shape)
    bits = np.where(zero & (np.abs(got) <= ULPS * np.finfo(float).eps * max(1.0, largest)), 0.0, bits)
    worst = max(0.0, float(np.max(bits, where=truth.counts, initial=0.0)))
    return Answer(got, worst <= math.log2(ULPS), worst)


def answered(ask: Callable[[], Any], truth: Truth, seconds: float) -> Answer:
    """Return the judgement on what is answered within some processor time; errors are wrong by all bits."""
    start = time.process_time()
    try:
        with within(PATIENCE * seconds), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RelgradWarning)  # what fails inside is no answer
            got = ask()
        if time.process_time() - start > seconds:
            raise TimeUp
    except TimeUp:
        return Answer(f"more than {seconds:g} s", False, 64.0)
    except Exception as error:
        return Answer(f"{type(error).__name__}: {error}".partition("\n")[0], False, 64.0)
    return judged(got, truth)


def answers(program: Program, kind: str, **how: Any) -> Callable[[], Any]:
    """Return how relgrad, with options, is asked for all entries of an answer, in one array where there are several."""
    if kind in ("value", "point"):
        arguments = program.at() if kind == "point" else program.near()
        return lambda: rg.stabilize(program.function, **how)(*arguments)
    f, near = program.function, program.near()
    along = [pattern(np.shape(x)) for x in near]
    wrt = tuple(range(len(near)))

    def scalar(*xs: Any) -> Any:
        y = f(*xs)
        return np.sum(pattern(np.shape(y)) * y)

    slope = rg.grad(scalar, wrt, **how)

    def directed(*xs: Any) -> Any:
        return sum(np.sum(s * v) for s, v in zip(slope(*xs), along, strict=True))

    asked = slope if kind == "gradient" else rg.grad(directed, wrt, **how)
    return lambda: np.concatenate([np.ravel(x) for x in asked(*near)])


def as_written(program: Program, kind: str) -> Callable[[], Any]:
    """Return how the program as written is asked: NumPy runs it; its derivatives are those of textbook pullbacks."""
    if kind in ("value", "point"):
        return lambda: program.function(*(program.at() if kind == "point" else program.near()))
    return answers(program, kind, strategy="naive")


def law_of(number: int) -> str:
    """Return the law of the program of that number: each has its turn."""
    return tuple(LAWS)[number % len(LAWS)]


@lru_cache(maxsize=8)
def drawn(seed: int, number: int) -> tuple[Program, Subject, Truth]:
    """Return the program of that number whose value counts, over the reals, and the truth of its value."""
    law = law_of(number)
    for attempt in range(ATTEMPTS):
        try:
            program = random_program((seed, number, attempt), law)
            subject = Subject(program)
            truth = subject.truth("value")
        except (Undrawn, np.linalg.LinAlgError):
            continue
        if truth is not None:
            return program, subject, truth
    raise AssertionError(f"{law}: {ATTEMPTS} draws came to nothing")


def ask(seed: int, number: int, seconds: float = SECONDS, **how: Any) -> Verdict:
    """Ask the question of that number, with options: kind `number % 4` of program `number // 4`."""
    kind = KINDS[number % len(KINDS)]
    program, subject, value = drawn(seed, number // len(KINDS))
    truth = value if kind == "value" else subject.truth(kind)
    if truth is None:
        return Verdict(number, kind, program)
    written = answered(as_written(program, kind), truth, 4 * seconds)
    start = time.process_time()
    relgrad = answered(answers(program, kind, **how), truth, seconds)
    taken = time.process_time() - start
    worse = not relgrad.right and relgrad.bits > written.bits + WORSE
    if worse and kind != "point":
        worse = relgrad.bits > max(nearby(program, kind, seconds), default=0.0) + WORSE
    return Verdict(number, kind, program, truth, written, relgrad, taken, worse)


def nearby(program: Program, kind: str, seconds: float) -> Iterator[float]:
    """Yield how many bits of the answers as written are wrong where the arguments are moved a little."""
    for part in MOVES:
        moved = program.moved(part)
        truth = Subject(moved).truth(kind)
        if truth is not None:
            yield answered(as_written(moved, kind), truth, 4 * seconds).bits


def described(verdict: Verdict) -> str:
    """Return a question as text that runs, with what was expected and what came."""
    program, truth = verdict.program, verdict.truth
    arguments = program.at() if verdict.kind == "point" else program.near()
    shown = [repr(float(x)) if not np.ndim(x) else f"np.array({np.asarray(x).tolist()!r})" for x in arguments]
    lines = [f"import numpy as np, scipy.special as sp\n\n{program.text}", f"f({', '.join(shown)})"]
    if truth is not None and verdict.written is not None and verdict.relgrad is not None:
        lines += [
            f"# expected    {_listed(truth)}",
            f"# relgrad     {_shown(verdict.relgrad)}",
            f"# as written  {_shown(verdict.written)}",
        ]
    return "\n".join(lines)


def _listed(truth: Truth) -> str:
    entries = zip(truth.balls.flat, truth.counts.flat, strict=True)
    return " ".join([ball.str(17, radius=False) if counts else "(not asked)" for ball, counts in entries])


def _shown(answer: Answer) -> str:
    got = answer.got
    text = got if isinstance(got, str) else " ".join(repr(float(x)) for x in np.ravel(got))
    return f"{text}   ({answer.bits:.0f} bits)"
