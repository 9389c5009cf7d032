"""Stable ops: what traces them, types, derivatives to second order against mpmath, ranges and balls."""

from __future__ import annotations

import warnings

import mpmath as mp
import numpy as np
import pytest
import scipy.special

import relgrad as rg
from relgrad import kernels as K
from relgrad.errors import RelationError, ShapeError
from relgrad.gradient import ones_like, pull_back, push_forward, zeros_like
from relgrad.interpret import interpret
from relgrad.leaf import Input
from relgrad.op import constant
from relgrad.ops import exponential as X
from relgrad.ops import families as F
from relgrad.ops import special as N
from relgrad.ops import stable as E
from relgrad.ops.deviation import (
    Deviation,
    LogSoftmaxPullback,
    SoftmaxPullback,
    deviation,
    log_softmax_pullback,
    softmax_pullback,
)
from relgrad.ops.elementwise import Elementwise
from relgrad.ops.softmax import LogSoftmax, LogSumExp, Softmax, log_softmax, logsumexp, softmax
from relgrad.ops.structure import Squeeze, expand, squeeze
from relgrad.term import Unknown, subterms, term
from relgrad.trace.tracer import Tracer
from relgrad.types import NONNEGATIVE, REAL, Interval, array_type


class Variable(Unknown):
    """A logic variable without the logic room."""

    def __init__(self, token):
        self.token = token


def leaf(value, name="x"):
    value = np.asarray(value)
    return Tracer(term(Input(name, array_type(value.dtype, value.shape))))


def pulled(out, x):
    """The gradient of Σ out with respect to a leaf, by reverse accumulation over the ops' own rules."""
    nodes = list(subterms(out.term))
    flows = {out.term: ones_like(out.term)}
    for node in reversed(nodes):
        if node in flows and node.rands:
            for operand, part in pull_back(node, flows.pop(node), set(nodes)):
                flows[operand] = (Tracer(flows[operand]) + part).term if operand in flows else part
    return Tracer(flows.get(x.term, zeros_like(x.term)))


def value(out, **arguments):
    leaves = {term(Input(k, array_type(np.asarray(v).dtype, np.shape(v)))): v for k, v in arguments.items()}
    return interpret([out.term], leaves)[0]


def derivatives(function, x, order=2):
    """Value and derivatives of an elementwise function."""
    t = leaf(x)
    outs = [function(t)]
    for _ in range(order):
        outs.append(pulled(outs[-1], t))
    return [value(out, x=x) for out in outs]


def _log1mexp(v):
    return mp.log1p(-mp.exp(v)) if v < -1 else mp.log(-mp.expm1(v))


def _ncdf(v):
    return mp.erfc(-v / mp.sqrt(2)) / 2


def _log_ndtr(v):
    return mp.log(_ncdf(v)) if v < 0 else mp.log1p(-_ncdf(-v))


def _over(numerator):
    return lambda v: numerator(v) / v


WIDE = [-700.0, -300.0, -40.0, -1.5, -0.3, 1e-3, 0.2, 3.0, 35.0, 300.0, 700.0]
NEAR = [-8.0, -1.3, -1e-2, 2e-3, 0.7, 2.2, 7.0]
POSITIVE = [1e-3, 0.2, 0.7, 1.9, 8.0, 50.0]
# The relative tolerance is that of the second derivative, where terms of both signs may meet.
ROWS = [
    (E.expit, lambda v: 1 / (1 + mp.exp(-v)), WIDE, 1e-12),
    (E.log_expit, lambda v: -mp.log1p(mp.exp(-v)), WIDE, 1e-14),
    (E.softplus, lambda v: mp.log1p(mp.exp(v)), WIDE, 1e-14),
    (E.log1mexp, _log1mexp, [-700.0, -300.0, -40.0, -1.5, -0.3, -1e-3, -1e-9], 1e-14),
    (E.bose, lambda v: 1 / mp.expm1(v), [v for v in WIDE if v], 1e-13),
    (X.log_cosh, lambda v: mp.log(mp.cosh(v)), [-4.5, -1.5, -0.3, 1e-3, 0.2, 3.0, 15.0], 1e-12),
    (E.logit, lambda v: mp.log(v) - mp.log1p(-v), [1e-30, 1e-3, 0.4, 0.6, 0.999], 1e-13),
    (E.entr, lambda v: -v * mp.log(v), POSITIVE, 1e-14),
    (F.exprel, _over(mp.expm1), NEAR, 1e-13),
    (F.sinc_n, _over(mp.sin), NEAR, 1e-13),
    (F.log1prel_n, _over(mp.log1p), [v for v in NEAR if v > -1], 1e-13),
    (N.erf, mp.erf, NEAR, 1e-13),
    (N.erfc, mp.erfc, NEAR, 1e-13),
    (F.erfcx, lambda v: mp.exp(v * v) * mp.erfc(v), [-5.0, -0.2, 0.3, 1.4, 1.6, 9.0, 1e4], 1e-13),
    (N.ndtr, _ncdf, NEAR, 1e-13),
    (N.log_ndtr, _log_ndtr, [-1e6, -300.0, -20.0, -1.0, -0.5, 0.3, 5.0, 30.0], 1e-13),
    (N.ndtri, lambda v: mp.sqrt(2) * mp.erfinv(2 * v - 1), [1e-3, 0.2, 0.7, 0.99], 1e-13),
    (N.gammaln, mp.loggamma, POSITIVE, 1e-13),
    (N.gamma, mp.gamma, [0.2, 0.7, 1.9, 8.0], 1e-13),
    (F.digamma, mp.digamma, POSITIVE, 1e-13),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("op", "exact", "points", "rtol"), ROWS, ids=[getattr(r[0], "name", "f") for r in ROWS]
)
def test_value_and_two_derivatives(op, exact, points, rtol):
    x = np.array(points)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="invalid value")  # no NaN on the way
        got = derivatives(op, x)
    digits = 900 if max(abs(x)) > 100 else 80
    for i, v in enumerate(x):
        with mp.workdps(digits):
            v = mp.mpf(float(v))
            h = abs(v) * mp.mpf(10) ** (-digits // 4)
            if abs(v) > 1e5:
                continue
            f = [exact(v + k * h) for k in (-2, -1, 0, 1, 2)]
            first = (f[0] - 8 * f[1] + 8 * f[3] - f[4]) / (12 * h)
            second = (-f[0] + 16 * f[1] - 30 * f[2] + 16 * f[3] - f[4]) / (12 * h * h)
            for order, e in enumerate([f[2], first, second]):
                np.testing.assert_allclose(
                    got[order][i], float(mp.re(e)), rtol=rtol, err_msg=f"order {order} at {v}"
                )
    assert all(np.isfinite(g).all() for g in got)


def test_log_ndtr_in_the_far_tail():
    # log Φ(x) = −x²/2 − log(−x) − log √(2π) − 1/x² + …
    x = np.array([-1e4, -1e8, -1e150])
    _, first, second = derivatives(N.log_ndtr, x)
    np.testing.assert_allclose(first, -x, rtol=2e-8)
    np.testing.assert_allclose(second, -1 + 1 / x / x, rtol=1e-15)


@pytest.mark.parametrize("family", [F.SincN, F.ExprelN, F.Log1prelN, F.ErfcxN, F.DigammaN])
def test_families_are_closed_under_differentiation(family):
    x = np.array([0.5, 1.0, 3.0])
    t = leaf(x)
    out = family(2)(t)
    assert pulled(out, t).term.op == family(3) or family(3) in {n.op for n in subterms(pulled(out, t).term)}
    assert family(2) == family(2) != family(3) and hash(family(2)) == hash(family(2))
    assert family(0).with_props((4,)) == family(4)
    assert family(1).source(t.term, ["x"]) == f"{family(1).name}(x, 1)"
    assert not family(Variable("n")).ground and family(1).ground
    assert str(family(2)) == f"{family(2).name}{{order=2}}"


BINARY = [
    (
        E.logdiffexp,
        lambda a, b: mp.log(mp.exp(a) - mp.exp(b)),
        [(3.0, 1.0), (300.0, -500.0), (-700.0, -701.0)],
    ),
    (E.xlogy, lambda a, b: a * mp.log(b), [(3.0, 0.2), (-1.0, 1e-9)]),
    (E.xlog1py, lambda a, b: a * mp.log1p(b), [(3.0, 1e-10), (-1.0, -0.5)]),
    (E.xdivy, lambda a, b: a / b, [(3.0, 0.2), (-1.0, 7.0)]),
    (E.rel_entr, lambda a, b: a * mp.log(a / b), [(3.0, 0.2), (0.1, 7.0)]),
    (N.beta, mp.beta, [(3.0, 0.2), (0.1, 7.0)]),
    (N.betaln, lambda a, b: mp.log(mp.beta(a, b)), [(3.0, 0.2), (0.1, 7.0)]),
]


def slope(function, at, i, h):
    """The central difference of a function of several numbers in its i-th."""
    up, down = list(at), list(at)
    up[i] += h
    down[i] -= h
    return (function(*up) - function(*down)) / (2 * h)


@pytest.mark.parametrize(("op", "exact", "points"), BINARY, ids=[r[0].name for r in BINARY])
def test_two_operands(op, exact, points):
    for at in points:
        named = {name: np.array(v) for name, v in zip("xy", at, strict=True)}
        leaves = [leaf(v, name) for name, v in named.items()]
        out = op(*leaves)
        with mp.workdps(900 if op is E.logdiffexp else 100):
            h, k = mp.mpf(10) ** (-mp.mp.dps // 3), mp.mpf(10) ** (-mp.mp.dps // 5)
            at = [mp.mpf(v) for v in at]
            np.testing.assert_allclose(value(out, **named), float(exact(*at)), rtol=1e-13)
            for i, x in enumerate(leaves):
                g = pulled(out, x)
                np.testing.assert_allclose(value(g, **named), float(slope(exact, at, i, h)), rtol=1e-12)
                for j, y in enumerate(leaves):
                    if y.term not in set(subterms(g.term)):
                        continue
                    mixed = slope(lambda *p, i=i, h=h: slope(exact, p, i, h), at, j, k)
                    np.testing.assert_allclose(value(pulled(g, y), **named), float(mixed), rtol=1e-11)


def test_zero_times_log_zero_stays_zero_in_derivatives():
    x, y = np.array([0.0, 0.0]), np.array([0.0, 2.0])
    tx, ty = leaf(x, "x"), leaf(y, "y")
    for op, second in ((E.xlogy, ty), (E.xlog1py, ty - 1)):
        g = pulled(op(tx, second), ty)
        np.testing.assert_array_equal(value(g, x=x, y=y), [0, 0])
    assert value(pulled(0.0 * E.xlogy(tx, ty), tx), x=x, y=y).tolist() == [0, 0]
    assert value(pulled(0.0 * E.entr(tx), tx), x=x).tolist() == [0, 0]


TRACED = [
    ("expit", scipy.special.expit),
    ("log_expit", scipy.special.log_expit),
    ("logit", scipy.special.logit),
    ("exprel_n", scipy.special.exprel),
    ("erfcx_n", scipy.special.erfcx),
    ("digamma_n", scipy.special.digamma),
    ("entr", scipy.special.entr),
    ("erf", scipy.special.erf),
    ("erfc", scipy.special.erfc),
    ("ndtr", scipy.special.ndtr),
    ("ndtri", scipy.special.ndtri),
    ("log_ndtr", scipy.special.log_ndtr),
    ("gammaln", scipy.special.gammaln),
    ("gamma", scipy.special.gamma),
]


@pytest.mark.parametrize(("name", "ufunc"), TRACED, ids=[r[0] for r in TRACED])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scipy_ufuncs_and_kernels_are_traced(name, ufunc, dtype):
    x = np.array([0.2, 0.7], dtype)
    by_scipy, by_kernel = ufunc(leaf(x)), getattr(K, name)(leaf(x))
    assert by_scipy.term is by_kernel.term
    assert by_scipy.dtype == dtype and by_scipy.term.op.name == name
    np.testing.assert_allclose(value(by_scipy, x=x), ufunc(x), rtol=20 * np.finfo(dtype).eps)
    assert value(by_scipy, x=x).dtype == dtype
    assert value(pulled(by_scipy, leaf(x)), x=x).dtype == dtype


def test_other_kernels_and_np_sinc_are_traced():
    x = leaf(np.array([0.5, 0.25]))
    for name in ("softplus", "log_cosh", "bose", "mills", "mills_excess", "sinc_n", "log1prel_n"):
        assert getattr(K, name)(x).term.op.name == name
    assert K.sinc_n(x, 3).term.op == F.SincN(3) and K.sinc_n(x, order=3).term is F.sinc_n(x, 3).term
    assert K.log1pexp(x).term is K.softplus(x).term
    np.testing.assert_allclose(value(np.sinc(x), x=np.array([0.0, 0.3])), np.sinc([0.0, 0.3]))
    assert K.xlogy(x, x).term.op is E.xlogy and K.logdiffexp(x, 0.1).term.op is E.logdiffexp
    assert E.expit(np.float32(0)).dtype == np.float32
    for op in (E.expit, F.SincN(1), E.xlogy):
        assert all(callable(getattr(K, name)) for name in op.imports)


def _ball_points(op):
    arity = op.arity
    if op.name in ("log1mexp",):
        return [[-0.5, -3.0]]
    return [[0.3, 0.8]] if arity == 1 else [[0.7, 0.9], [0.2, 0.4]]


OPS = [*{v: 0 for m in (E, N, F) for v in vars(m).values() if isinstance(v, Elementwise)}] + [
    f(n) for f in (F.SincN, F.ExprelN, F.Log1prelN, F.ErfcxN, F.DigammaN) for n in (1, 2, 5)
]


@pytest.mark.parametrize("op", OPS, ids=str)
def test_ball_evaluation_encloses_the_value(op):
    flint = pytest.importorskip("flint")
    arrays = [np.array(v) for v in _ball_points(op)]
    balls = [np.array([flint.arb(float(v)) for v in a], dtype=object) for a in arrays]
    with flint.ctx.workprec(200):
        out = op.ball(*balls)
    got = op(*arrays)
    for ball, v in zip(out, got, strict=True):
        assert float(ball.rad()) < 1e-30
        np.testing.assert_allclose(v, float(ball.mid()), rtol=1e-13)


@pytest.mark.parametrize("op", OPS, ids=str)
def test_ranges_hold(op):
    rng = np.random.default_rng(0)
    wide = np.concatenate([rng.uniform(-8, 8, 400), 10 ** rng.uniform(-5, 1, 100)])
    for domain in (REAL, NONNEGATIVE):
        if domain is NONNEGATIVE and op is E.log1mexp:
            continue
        x = wide if domain is REAL else abs(wide)
        args = [x] if op.arity == 1 else [x, rng.permutation(x)]
        r = op.range_of(*[domain] * op.arity)
        out = op(*args)
        out = out[np.isfinite(out)]
        if op.name in ("gammaln", "digamma_n", "gamma") and domain is REAL:
            continue
        assert out.size and np.all((out >= r.low) & (out <= r.high)), (r, out.min(), out.max())


# Over axes


RNG = np.random.default_rng(3)
X, W = RNG.standard_normal((3, 4)) * 3, RNG.uniform(0.2, 2, (3, 4))


def brute(function, *args):
    """Central differences of a list-valued function in high precision."""
    with mp.workdps(60):
        h = mp.mpf(10) ** -20
        base = [[mp.mpf(float(v)) for v in np.ravel(a)] for a in args]
        jacobians = []
        for i, a in enumerate(base):
            columns = []
            for j in range(len(a)):
                parts = []
                for s in (1, -1):
                    moved = [list(b) for b in base]
                    moved[i][j] += s * h
                    parts.append(function(*moved))
                columns.append([float((p - q) / (2 * h)) for p, q in zip(*parts, strict=True)])
            jacobians.append(np.array(columns).T)
        return [float(v) for v in function(*base)], jacobians


def _lse(x, w=None):
    return [mp.log(mp.fsum(mp.exp(v) if w is None else w[i] * mp.exp(v) for i, v in enumerate(x)))]


def _softmax(x, w=None):
    e = [mp.exp(v) if w is None else w[i] * mp.exp(v) for i, v in enumerate(x)]
    return [v / mp.fsum(e) for v in e]


def _log_softmax(x):
    return [v - _lse(x)[0] for v in x]


def _mean(g, p):
    return mp.fsum(a * b for a, b in zip(g, p, strict=True)) / mp.fsum(p)


def _deviation(g, p):
    return [v - _mean(g, p) for v in g]


def _softmax_pullback(g, p):
    return [b * (a - _mean(g, p)) for a, b in zip(g, p, strict=True)]


def _log_softmax_pullback(g, p):
    return [a - b * mp.fsum(g) / mp.fsum(p) for a, b in zip(g, p, strict=True)]


G = RNG.standard_normal(4)
P = RNG.uniform(0.1, 1, 4)  # not a distribution: the maps are differentiated for any weights
OVER_AXES = [
    (LogSumExp, _lse, (X[0],)),
    (LogSumExp, _lse, (X[0] + 800, W[0])),
    (LogSumExp, _lse, (X[0], W[0] * [1, 0, -0.01, 1])),
    (Softmax, _softmax, (X[0],)),
    (Softmax, _softmax, (X[0] - 800, W[0])),
    (Softmax, _softmax, (X[0], W[0] * [1, 0, -0.01, 1])),
    (LogSoftmax, _log_softmax, (X[0],)),
    (Deviation, _deviation, (G, P)),
    (SoftmaxPullback, _softmax_pullback, (G, P)),
    (LogSoftmaxPullback, _log_softmax_pullback, (G, P)),
]


@pytest.mark.parametrize(("family", "exact", "args"), OVER_AXES)
def test_pullback_and_pushforward(family, exact, args):
    op = family((-1,))
    expected, jacobians = brute(exact, *args)
    np.testing.assert_allclose(op(*args), expected, rtol=1e-13)
    leaves = [leaf(a, f"x{i}") for i, a in enumerate(args)]
    named = {f"x{i}": a for i, a in enumerate(args)}
    out = op(*leaves)
    c, d = RNG.standard_normal(len(expected)), RNG.standard_normal(4)
    scale = {"rtol": 1e-11, "atol": 1e-13}
    for i, (x, j) in enumerate(zip(leaves, jacobians, strict=True)):
        np.testing.assert_allclose(value(pulled(c * out, x), **named), c @ j, **scale)
        (tangent,) = push_forward(
            op, out.term, [leaf(d, "d").term if k == i else None for k in range(len(args))]
        )
        np.testing.assert_allclose(value(Tracer(tangent), d=d, **named), j @ d, **scale)
    both = push_forward(op, out.term, [leaf(d, "d").term] * len(args))[0]
    np.testing.assert_allclose(value(Tracer(both), d=d, **named), sum(j @ d for j in jacobians), **scale)


@pytest.mark.parametrize(("family", "exact", "args"), OVER_AXES)
def test_second_derivatives(family, exact, args):
    op = family((-1,))
    leaves = [leaf(a, f"x{i}") for i, a in enumerate(args)]
    named = {f"x{i}": a for i, a in enumerate(args)}
    size = len(op(*args))
    c = [float(v) for v in RNG.standard_normal(size)]
    d = RNG.standard_normal(4)
    first = [pulled(np.array(c) * op(*leaves), x) for x in leaves]
    for i, g in enumerate(first):
        if not {x.term for x in leaves} & set(subterms(g.term)):
            continue

        def gradient(*xs, i=i):
            h = mp.mpf(10) ** -15
            out = []
            for k in range(len(xs[i])):
                up, down = [list(x) for x in xs], [list(x) for x in xs]
                up[i][k] += h
                down[i][k] -= h
                pairs = zip(exact(*up), exact(*down), strict=True)
                out.append(mp.fsum(cc * (p - q) for cc, (p, q) in zip(c, pairs, strict=True)) / (2 * h))
            return out

        _, jacobians = brute(gradient, *args)
        for x, j in zip(leaves, jacobians, strict=True):
            if x.term in set(subterms(g.term)):
                got = value(pulled(d * g, x), **named)
                np.testing.assert_allclose(got, d @ j, rtol=1e-9, atol=1e-11)


SHAPES = [
    ((3, 4), (4,), (-2,)),
    ((4,), (3, 4), (-2,)),
    ((3, 1), (1, 4), (-1,)),
    ((2, 1, 4), (3, 1), (-3, -1)),
]


@pytest.mark.parametrize(("shape", "other", "axes"), SHAPES)
@pytest.mark.parametrize("family", [LogSumExp, Softmax, Deviation, SoftmaxPullback, LogSoftmaxPullback])
def test_derivatives_of_operands_that_broadcast(family, shape, other, axes):
    op = family(axes)
    args = {"x": RNG.standard_normal(shape), "y": RNG.uniform(0.5, 2, other)}
    leaves = [leaf(v, k) for k, v in args.items()]
    out = op(*leaves)
    c = RNG.standard_normal(out.shape)
    tangents = {f"d{k}": RNG.standard_normal(v.shape) for k, v in args.items()}
    pushed = Tracer(push_forward(op, out.term, [leaf(v, k).term for k, v in tangents.items()])[0])
    assert pushed.shape == out.shape == op(*args.values()).shape
    h = 1e-6
    moved = [
        op(*[a + s * h * t for a, t in zip(args.values(), tangents.values(), strict=True)]) for s in (1, -1)
    ]
    slope = (moved[0] - moved[1]) / (2 * h)
    np.testing.assert_allclose(value(pushed, **args, **tangents), slope, rtol=1e-6, atol=1e-8)
    gradients = [value(pulled(c * out, x), **args) for x in leaves]
    assert [g.shape for g in gradients] == [shape, other]
    both = sum(np.sum(g * t) for g, t in zip(gradients, tangents.values(), strict=True))
    np.testing.assert_allclose(both, np.sum(c * slope), rtol=1e-6, atol=1e-8)


def test_dominated_rows_keep_their_small_derivatives():
    x = np.array([0.0, -50.0, -60.0])
    t = leaf(x)
    tail = np.exp(-50.0) + np.exp(-60.0)
    np.testing.assert_allclose(
        value(pulled(log_softmax(t)[0], t), x=x), [tail, -np.exp(-50), -np.exp(-60)], rtol=1e-14
    )
    p = softmax(t)
    expected = [tail, -np.exp(-50), -np.exp(-60)]
    np.testing.assert_allclose(value(pulled(p[0], t), x=x), expected, rtol=1e-14)
    hessian = value(pulled(pulled(logsumexp(t), t)[0], t), x=x)
    np.testing.assert_allclose(hessian, expected, rtol=1e-14)


def test_axes_of_canonical_terms():
    x = leaf(np.ones((2, 1, 4)))
    assert logsumexp(x, axis=1, keepdims=True).term is x.term
    assert logsumexp(x, axis=(1, 2)).term.op == Squeeze((-2, -1))
    assert logsumexp(x, axis=(1, 2)).term.rands[0].op == LogSumExp((-1,))
    assert logsumexp(x, axis=(1, -1)).shape == (2,) and logsumexp(x).shape == ()
    flat = Tracer(squeeze(x.term, (-2,)))
    for function, op in ((softmax, Softmax), (log_softmax, LogSoftmax)):
        out = function(flat)
        assert out.term is squeeze(op((-1,))(x).term, (-2,))
        assert function(flat, axis=0).term.rands[0].op == op((-3,))
    assert logsumexp(flat, axis=0).term is squeeze(LogSumExp((-3,))(x).term, (-3, -2))
    w = leaf(np.ones(4), "w")
    lifted = Tracer(expand(w.term, (-2,)))
    assert softmax(flat, weights=lifted).term is softmax(flat, weights=w).term
    assert logsumexp(x, axis=1, keepdims=True, weights=w).term.op == LogSumExp(())
    assert LogSumExp((-1,)).source(x.term, ["x"]) == "logsumexp(x, axis=-1, keepdims=True)"
    assert Softmax((-2, -1)).source(x.term, ["x", "w"]) == "softmax(x, axis=(-2, -1), weights=w)"
    assert Deviation((-1,)).source(x.term, ["g", "p"]) == "deviation(g, p, axis=-1)"


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1), ()])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_traced_functions_agree_with_kernels(axis, dtype):
    x, w = X.astype(dtype), W[0].astype(dtype)
    t, u = leaf(x), leaf(w, "w")
    cases = [
        (logsumexp(t, axis), K.logsumexp(x, axis)),
        (logsumexp(t, axis, weights=u), K.logsumexp(x, axis, weights=w)),
        (softmax(t, axis, weights=u), K.softmax(x, axis, weights=w)),
        (log_softmax(t, axis), K.log_softmax(x, axis)),
        (K.logsumexp(t, axis, keepdims=True, weights=u), K.logsumexp(x, axis, keepdims=True, weights=w)),
        (K.softmax(t, axis), softmax(x, axis)),
        (K.log_softmax(t, axis=axis), log_softmax(x, axis)),
        (K.softmax_pullback(t, u, axis), softmax_pullback(x, w, axis)),
        (K.log_softmax_pullback(x, u, axis), log_softmax_pullback(x, w, axis)),
        (K.deviation(t, w, axis), deviation(x, w, axis)),
    ]
    for traced, expected in cases:
        assert traced.dtype == expected.dtype == dtype and traced.shape == expected.shape
        np.testing.assert_allclose(value(traced, x=x, w=w), expected, rtol=10 * np.finfo(dtype).eps)


def test_arrays_tracers_terms_and_numbers():
    t = leaf(X.astype(np.float32))
    assert isinstance(softmax(t), Tracer) and softmax(t.term) is softmax(t).term
    assert logsumexp(t, weights=2.0).dtype == np.float32, "a Python number takes its partner's dtype"
    assert isinstance(logsumexp(X), np.float64)
    integers = leaf(np.arange(3))
    assert softmax(integers).dtype == np.float64 and logsumexp(integers).dtype == np.float64
    assert LogSumExp((-1,)).L_op([integers], [logsumexp(integers)], [1.0]) == [None]
    one = leaf(np.arange(1))
    assert logsumexp(one).dtype == np.float64, "an axis of extent 1 does not keep integers"
    with pytest.raises(ShapeError):
        softmax(leaf(np.ones(3)), weights=leaf(np.ones(4), "w"))
    with pytest.raises(ShapeError):
        softmax(leaf(np.ones(3)), axis=1)


def test_unknown_extents():
    x = Tracer(term(Input("x", array_type("float64", (None, 3)))))
    assert logsumexp(x, axis=0).shape == (3,) and logsumexp(x, axis=1).shape == (None,)
    assert softmax(x, axis=0).shape == (None, 3)


def test_relations_take_logic_variables():
    x, w, axis = Variable("x"), Variable("w"), Variable("axis")
    pattern = logsumexp(x, axis=axis, keepdims=True, weights=w)
    assert not pattern.ground and pattern.op.axes is axis and pattern.rands == (x, w)
    assert softmax(Tracer(x), axis=axis).term is softmax(x, axis=axis)
    assert log_softmax(x).op == LogSoftmax((-1,))
    assert K.log_softmax(Tracer(x), axis=axis).term.op.axes is axis
    with pytest.raises(RelationError, match="keep its axes"):
        logsumexp(x, axis=axis)
    with pytest.raises(RelationError):
        softmax(x, axis=0)
    ground = leaf(X).term
    assert not logsumexp(ground, axis=axis, keepdims=True).ground
    assert E.expit(x).rands == (x,) and not E.expit(x).ground
    assert not F.sinc_n(ground, axis).ground


def test_ranges_over_axes():
    assert Softmax((-1,)).range_of(REAL) == Interval(0, 1, open_low=True)
    assert Softmax((-1,)).range_of(REAL, NONNEGATIVE) == Interval(0, 1)
    assert Softmax((-1,)).range_of(REAL, REAL) == REAL
    assert LogSoftmax((-1,)).range_of(REAL).high == 0


@pytest.mark.parametrize("axes", [(-1,), (-2,), (-2, -1), ()])
def test_balls_over_axes(axes):
    flint = pytest.importorskip("flint")

    def balls(a):
        return np.frompyfunc(lambda v: flint.arb(float(v)), 1, 1)(a)

    cases = [(LogSumExp, X), (LogSumExp, X, W), (Softmax, X), (Softmax, X, W), (LogSoftmax, X)]
    cases += [(Deviation, X, W), (SoftmaxPullback, X, W), (LogSoftmaxPullback, X, W)]
    for family, *args in cases:
        with flint.ctx.workprec(200):
            out = family(axes).ball(*[balls(a) for a in args])
        got = family(axes)(*args)
        assert out.shape == got.shape
        np.testing.assert_allclose(got, out.astype(float), rtol=1e-12, atol=1e-14)


def test_constants_fold_to_what_kernels_give():
    c = constant(np.array([1.0, 2.0]))
    assert interpret([logsumexp(c)], {})[0] == K.logsumexp(np.array([1.0, 2.0]))


def test_a_sum_of_nothing_has_no_slope():
    # The last entry of a cumulative sum of shares is all of them: what is left to be summed there is nothing.
    x = np.array([0.3, -1.0, 2.0])
    mask = np.tril(np.ones((3, 3)), -1)
    loss = lambda x: np.sum(np.exp(logsumexp(x, axis=-1, weights=mask)))
    assert np.allclose(rg.grad(loss)(x), [2 * np.exp(0.3), np.exp(-1.0), 0.0])
    assert np.allclose(rg.hessian(loss)(x), np.diag([2 * np.exp(0.3), np.exp(-1.0), 0.0]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "fun",
    [
        lambda x: scipy.special.rel_entr(x, 2 * x),
        lambda x: scipy.special.rel_entr(x - 1, x + 1),
        lambda x: scipy.special.kl_div(0 * x, x),
        lambda x: scipy.special.kl_div(2 * x, x),
        lambda x: scipy.special.kl_div(x[:, None], np.append(x, np.array([np.nan], x.dtype))),
    ],
)
def test_convex_functions_of_scipy_are_infinite_outside_of_their_domains(fun, dtype):
    x = np.array([-1.0, 0.0, 2.0, -0.5], dtype)
    for how in ({}, {"validate": False}):
        got = rg.stabilize(fun, **how)(x)
        assert got.dtype == fun(x).dtype
        np.testing.assert_allclose(got, fun(x), rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("m", [0, 1, 2, 3.0, 8, 1.5])
def test_rising_factorials_have_no_poles(m):
    x = np.array([-3.0, -1.0, -0.25, 0.0, 2.0, 40.0])
    with np.errstate(all="ignore"):
        want = scipy.special.poch(x, m)
    if m in (0, 1.5):  # a quotient of gamma functions, which have poles
        x, want = x[-2:], want[-2:]
    np.testing.assert_allclose(rg.stabilize(lambda x: scipy.special.poch(x, m))(x), want, rtol=1e-13)
    for z in (3, np.array([3, -2]), np.float32(-1)):
        got, plain = rg.stabilize(lambda z: scipy.special.poch(z, 2))(z), scipy.special.poch(z, 2)
        assert got.dtype == plain.dtype and np.array_equal(got, plain)


@pytest.mark.parametrize("c", [np.inf, -np.inf, 800.0, 1.0])
@pytest.mark.parametrize("shape", [(), (1,), (2, 1)])
def test_an_exponential_is_shared_among_more_weights_than_it_has_entries(c, shape):
    w, x = np.array([0.5, 2.0]), np.full(shape, c)
    with np.errstate(over="raise", under="raise"):  # as callers have it that want to be told of ranges
        got = K.gibbs(x, x, axis=-1, weights=w)
    wide = np.broadcast_to(x, np.broadcast_shapes(shape, (2,)))
    np.testing.assert_array_equal(got, K.gibbs(wide, wide, axis=-1, weights=w)[..., :1])
    rg.grad(lambda w: np.cbrt(np.sum(scipy.special.logsumexp(x, b=w, axis=-1 if shape else None))))(w)
