"""The judge of random programs: does what relgrad makes of a program agree with the program over the reals?

For every program: tracing, rewriting with the default and with the eager strategy, compiling and calling neither raise
nor take too long; shapes and dtypes are those of NumPy; each entry of the value, the gradient and, for some programs,
of the gradient's derivative along a direction is as near to the truth as it must be.

*As near as it must be*: with t the truth (the program as written, in ball arithmetic), n what naive evaluation gives
and r what relgrad gives, |r − t| is at most one of

    64 ulp(t) + 4 |n − t| + tiny        (tried first)
    64 ulp(t) + 8 max |nₖ − t| + tiny

where the nₖ are naive evaluations with every input and every rounded intermediate disturbed by up to an ulp. They tell
what naive evaluation reaches from what it gets right by luck. Where t = 0, the rounding of the largest intermediate is
allowed too. An entry that has no value (0/0, ∞ − ∞) is not compared.

The truth of the gradient is that of textbook pullbacks; these are judged by a difference quotient of the value, over
a step of 2⁻¹⁵⁰, at 600 bits.

Source: disturbing intermediates is Monte Carlo arithmetic, Parker 1997.
"""

from __future__ import annotations

import signal
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import flint
import numpy as np
from random_programs import Case, Program, size, smaller

import relgrad as rg
from relgrad.accuracy.bits import bits_of_error
from relgrad.balls.graph import Enclosure, enclose, evaluate
from relgrad.compile.function import Compiled, compile_program
from relgrad.differentiate import pull_along
from relgrad.interpret import interpret
from relgrad.ops.arguments import as_balls
from relgrad.relation import Library
from relgrad.schedule import schedule, strategy
from relgrad.term import Term, subterms
from relgrad.trace.containers import flatten
from relgrad.trace.trace import Traced, trace
from relgrad.types import ArrayType

STRATEGIES = ("default", "eager")
PRECISION = 1024
"""The largest precision that is tried for the truth."""
DISTURBED = 6
"""So many disturbed evaluations."""


class TimeUp(BaseException):
    """A program took longer than it may."""


class Failure(NamedTuple):
    """What is wrong with a program: the kind, the strategy, the output, the point, and a sentence."""

    kind: str
    strategy: str
    output: str
    point: int
    text: str

    @property
    def key(self) -> tuple[str, str, str]:
        """What remains when the program is reduced."""
        return self.kind, self.strategy, self.text.partition(":")[0] if self.kind == "raises" else ""


@dataclass
class Outcome:
    """What was found out about a program."""

    failures: list[Failure] = field(default_factory=list)
    compared: int = 0
    """Entries with a value, all points and both strategies."""
    undefined: int = 0
    better: int = 0
    """Results (an output at a point) whose worst error is more than 2 bits smaller than that of naive evaluation."""
    worse: int = 0
    excused: int = 0
    """Entries that are worse than naive ones, within what neighbours allow."""
    results: int = 0
    slopes: int = 0
    """Difference quotients that were compared with the gradient."""
    seconds: float = 0.0
    relations: tuple[str, ...] = ()
    second: bool = False
    unjudged: bool = False
    """NumPy refuses it, the truth took too long, or a matrix was singular."""


class Built(NamedTuple):
    """A program traced with its derivatives: its graph as written, and what is compiled by strategy."""

    traced: Traced
    values: int
    written: Sequence[Term]
    naive: Compiled
    rewritten: dict[str, Compiled]
    relations: tuple[str, ...]


class Disturbed(NamedTuple):
    """A disturbed naive evaluation: its outputs, and the largest finite number that occurred in it."""

    outputs: list[Any]
    largest: float


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise TimeUp in this thread, the main one, when so many seconds have passed."""

    def stop(*_: Any) -> None:
        raise TimeUp

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def with_derivatives(fun: Callable[..., Any], second: bool) -> Callable[..., Any]:
    """Return the function of fun's value and gradient and, if `second`, of the gradient's derivative along ones.

    The gradient is that of the sum of the entries with weights near 1, so that it vanishes for no normalised value.
    """

    def weights(y: Any) -> Any:
        n = int(np.prod(y.shape))
        return np.linspace(0.5, 1.25, n).reshape(y.shape).astype(y.dtype)

    def all_of(*args: Any) -> Any:
        value = fun(*args)
        gradient = pull_along(fun, args, weights(value))
        if not second:
            return value, gradient

        def along(*args: Any) -> Any:
            return pull_along(fun, args, weights(value))

        ones = tuple([np.ones(x.shape, x.dtype) for x in args])
        return value, gradient, pull_along(along, args, ones)

    return all_of


def build(fun: Callable[..., Any], args: Sequence[Any], second: bool, library: Library) -> Built:
    """Trace a function with its derivatives, rewrite and compile it, by each strategy."""
    traced = trace(with_derivatives(fun, second), args)
    written = schedule(traced.outputs, library, strategy("naive")).after
    naive = compile_program(traced, written, "naive")
    rewritten, applied = {}, []
    for name in STRATEGIES:
        derivation = schedule(traced.outputs, library, strategy(name))
        for failure in derivation.failures:
            raise failure.error
        rewritten[name] = compile_program(traced, derivation.after, name, extended=True)
        applied += [step.name for step in derivation.steps if step.move == "relation"]
    return Built(traced, 1, written, naive, rewritten, tuple(dict.fromkeys(applied)))


def check(
    case: Case,
    library: Library = rg.LIBRARY,
    seconds: float = 30.0,
    second: bool = False,
    slopes: bool = True,
) -> Outcome:
    """Return what is found out about a program; see the module for what is a failure."""
    outcome = Outcome(second=second)
    fun = case.program.function
    try:
        _plain(fun, case.points[0])
    except Exception:
        outcome.unjudged = True  # no program, to NumPy
        return outcome
    start = time.perf_counter()
    step = "tracing or rewriting"
    try:
        with within(seconds), warnings.catch_warnings():
            warnings.simplefilter("error", rg.errors.RelgradWarning)
            built = build(fun, case.points[0], second, library)
            step = "calling"
            with np.errstate(all="ignore"):
                for name in STRATEGIES:
                    built.rewritten[name](*case.points[0])
    except TimeUp:
        outcome.failures.append(Failure("hangs", "", step, 0, f"more than {seconds} s"))
        return outcome
    except np.linalg.LinAlgError:
        return outcome
    except Exception as error:
        outcome.failures.append(Failure("raises", "", step, 0, f"{type(error).__name__}: {error}"))
        return outcome
    outcome.seconds, outcome.relations = time.perf_counter() - start, built.relations
    try:
        with within(4 * seconds):
            for number, point in enumerate(case.points):
                _judge_point(built, fun, point, number, outcome, slopes)
    except rg.errors.OpError as error:
        outcome.failures.append(Failure("no truth", "", "", 0, str(error).partition("\n")[0]))
    except (TimeUp, np.linalg.LinAlgError):
        outcome.unjudged = True
    except Exception as error:
        outcome.failures.append(Failure("raises", "", "judging", 0, f"{type(error).__name__}: {error}"))
    return outcome


def _judge_point(
    built: Built, fun: Any, point: Sequence[Any], number: int, outcome: Outcome, slopes: bool
) -> None:
    plain, naive = _plain(fun, point), _run(built.naive, point)
    truth = enclose(built.written, _values(built, point), limit=PRECISION)
    disturbed: list[Disturbed] = []
    for name, program in built.rewritten.items():
        got = _run(program, point)
        for i, (r, t) in enumerate(zip(got, truth, strict=True)):
            label = "value" if i == 0 else "gradient" if i <= len(point) else "second derivative"
            n = plain if i == 0 else naive[i]
            expected = n if i == 0 else np.asarray(point[(i - 1) % len(point)])
            if r.dtype != expected.dtype or r.shape != expected.shape:
                text = f"{r.dtype} {r.shape} instead of {expected.dtype} {expected.shape}"
                outcome.failures.append(Failure("type", name, label, number, text))
                continue
            bits, before = bits_of_error(r, t), bits_of_error(n, t)
            _count(outcome, bits, before)
            suspects = _suspects(r, t, bits, before)
            if not suspects.any():
                continue
            disturbed = disturbed or _disturbed(built, point)
            bad = suspects & ~_excused(r, t, i, disturbed)
            outcome.excused += int(suspects.sum() - bad.sum())
            if bad.any():
                at = tuple(np.argwhere(bad)[0])
                ball = t.balls[at].str(17, radius=False)
                text = f"{r[at]!r} for {ball}, naive {n[at]!r}; {bits[at]:.0f} bits, naive {before[at]:.0f}"
                outcome.failures.append(Failure("inaccurate", name, label, number, text))
    if slopes and number == 0:
        _judge_slope(built, point, truth, outcome)


def _plain(fun: Any, point: Sequence[Any]) -> Any:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(fun(*point))


def _run(program: Compiled, point: Sequence[Any]) -> list[Any]:
    with np.errstate(all="ignore"):
        return [np.asarray(x) for x in flatten(program(*point))[0]]


def _values(built: Built, point: Sequence[Any]) -> dict[Term, Any]:
    return {t: np.asarray(x, t.type.dtype) for t, x in zip(built.traced.inputs, point, strict=True)}


def _count(outcome: Outcome, bits: Any, before: Any) -> None:
    known = ~np.isnan(bits)
    outcome.compared += int(known.sum())
    outcome.undefined += int((~known).sum())
    if known.any():
        change = bits[known].max() - before[known].max()
        outcome.results += 1
        outcome.better += int(change < -2)
        outcome.worse += int(change > 2)


def _suspects(r: Any, t: Enclosure, bits: Any, before: Any) -> Any:
    """Return which entries are farther from the truth than 64 ulps and four times the naive error allow."""
    with np.errstate(invalid="ignore"):
        allowed = np.log2(64 + 4 * np.exp2(before))
        distant = np.array(np.isfinite(bits) & (bits > allowed))
    for at in map(tuple, np.argwhere(distant)):
        if np.isfinite(r[at]) and t.balls[at].is_finite():
            tiny = float(np.finfo(r.dtype).tiny) if r.dtype.kind == "f" else 0.0
            distant[at] = not abs(flint.arb(float(r[at])) - t.balls[at].mid()) <= tiny
    return distant


def _disturbed(built: Built, point: Sequence[Any]) -> list[Disturbed]:
    """Return naive evaluations with inputs and intermediates disturbed by up to an ulp; what is exact stays exact."""
    rng = np.random.default_rng(0)
    nodes = [t for t in subterms(*built.written) if isinstance(t.type, ArrayType)]
    found = []
    for _ in range(DISTURBED):
        known = {t: _shaken(x, rng) for t, x in _values(built, point).items()}
        for node in nodes:
            if node not in known:
                operands = [known[rand] for rand in node.rands if rand in known]
                with np.errstate(all="ignore"):
                    (x,) = interpret([node], known)
                x = np.asarray(x)
                exact = not operands or x.dtype.kind != "f" or _selected(x, operands)
                known[node] = x if exact else _shaken(x, rng)
        sizes = [
            float(np.max(np.abs(x), initial=0.0))
            for x in known.values()
            if isinstance(x, np.ndarray) and x.dtype.kind == "f"
        ]
        found.append(
            Disturbed([known[t] for t in built.written], max(filter(np.isfinite, sizes), default=0.0))
        )
    return found


def _shaken(x: Any, rng: np.random.Generator) -> Any:
    if x.dtype.kind != "f":
        return x
    return (x * (1 + rng.uniform(-1, 1, np.shape(x)) * np.finfo(x.dtype).eps)).astype(x.dtype)


def _selected(x: Any, operands: Sequence[Any]) -> bool:
    """Whether all entries stood among the operands already, but for signs."""
    before = np.concatenate([np.ravel(np.abs(y)) for y in operands if y.dtype.kind == "f"] or [np.zeros(0)])
    return bool(np.isin(np.abs(x), before).all())


def _excused(r: Any, t: Enclosure, i: int, disturbed: Sequence[Disturbed]) -> Any:
    """Return which entries are as near to the truth as disturbed naive evaluations."""
    excused = np.zeros(r.shape, dtype=bool)
    for at in np.ndindex(r.shape):
        ball, several = t.balls[at], [float(d.outputs[i][at]) for d in disturbed]
        if not ball.is_finite() or not np.all(np.isfinite(several)):
            excused[at] = not np.all(np.isfinite(several))
        elif np.isfinite(r[at]):
            ulp = float(np.abs(np.spacing(r.dtype.type(float(ball.mid())))))
            reach = max(float(abs(flint.arb(n) - ball.mid())) for n in several)
            if float(ball.mid()) == 0:
                # What cancels to zero over the reals leaves the rounding of what cancels, however that is done.
                reach = max(reach, float(np.finfo(r.dtype).eps) * disturbed[0].largest)
            error = abs(flint.arb(float(r[at])) - ball.mid())
            excused[at] = bool(error <= 64 * ulp + 8 * reach + float(np.finfo(r.dtype).tiny))
    return excused


def _judge_slope(built: Built, point: Sequence[Any], truth: Sequence[Enclosure], outcome: Outcome) -> None:
    """Compare the gradient along a direction with the difference quotient of the value."""
    gradients = truth[1 : 1 + len(point)]
    value = truth[0]
    finite = all(b.is_finite() for e in [value, *gradients] for b in e.balls.flat)
    if not finite or not all(e.settled.all() for e in (value, *gradients)):
        return
    rng = np.random.default_rng(0)
    values = _values(built, point)
    directions = [rng.uniform(0.5, 1.0, np.shape(x)) * rng.choice([-1, 1], np.shape(x)) for x in point]
    n = value.balls.size
    weights = np.linspace(0.5, 1.25, n).astype(built.traced.outputs[0].type.dtype)
    with flint.ctx.workprec(600):
        step = flint.arb(2) ** -150
        sums = []
        for sign in (-1, 0, 1):
            moved = {
                t: as_balls(x) + as_balls(d) * (step * sign)
                for (t, x), d in zip(values.items(), directions, strict=True)
            }
            (found,) = evaluate(built.traced.outputs[:1], moved, 600)
            sums.append(sum((b * float(w) for b, w in zip(found.flat, weights, strict=True)), flint.arb(0)))
        left, right = (sums[1] - sums[0]) / step, (sums[2] - sums[1]) / step
        parts = [
            b * float(v)
            for e, d in zip(gradients, directions, strict=True)
            for b, v in zip(e.balls.flat, d.flat, strict=True)
        ]
        total, scale = sum(parts, flint.arb(0)), sum(map(abs, parts), flint.arb(0))
        # Constants of pullbacks are rounded to the dtype: relative to the arguments, they blur as much as the value.
        kinds = {t.type.dtype for t in subterms(*built.written) if isinstance(t.type, ArrayType)}
        eps = max(float(np.finfo(kind).eps) for kind in kinds if kind.kind == "f")
        moved = sum(
            float(np.sum(np.abs(d / np.where(x == 0, 1, x)))) for d, x in zip(directions, point, strict=True)
        )
        close = (scale + abs(left) + sum(map(abs, value.balls.flat), flint.arb(0)) * moved) * (64 * eps)
        if not (left.is_finite() and right.is_finite() and abs(left - right) <= close):
            return
        outcome.slopes += 1
        if not abs(total - left) <= close:
            text = f"{total.str(12, radius=False)} along a direction, the value changes by {left.str(12, radius=False)}"
            outcome.failures.append(Failure("wrong pullback", "naive", "gradient", 0, text))


def reduced(case: Case, failure: Failure, again: Callable[[Case], Outcome], seconds: float = 60.0) -> Case:
    """Return a smallest case found by leaving out parts that fails as the given one does."""
    end = time.monotonic() + seconds

    def fails(candidate: Case) -> bool:
        try:
            return any(f.key == failure.key for f in again(candidate).failures)
        except Exception:
            return False

    point = failure.point
    single = Case(case.program, (case.points[point],))
    if not fails(single):
        return case
    best = single
    while True:
        better = (c for c in smaller(best, 0) if size(c) < size(best))
        found = next((c for c in better if time.monotonic() < end and fails(c)), None)
        if found is None:
            return best
        best = found


def described(program: Program, point: Sequence[Any]) -> str:
    """Return a program and a point as text that runs."""
    arguments = [
        f"np.{np.asarray(x).dtype}({np.asarray(x).tolist()!r})"
        if not np.ndim(x)
        else f"np.array({np.asarray(x).tolist()!r}, '{x.dtype}')"
        for x in point
    ]
    return f"{program.source}\nf({', '.join(arguments)})"
