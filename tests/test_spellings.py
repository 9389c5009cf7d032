"""Spellings that people use without thinking, against the same code run on balls of thousands of bits.

The oracle knows nothing of softmaxes: each case is the NumPy code itself. Inputs overflow or underflow every exp.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ball_oracle
import numpy as np
import pytest

import relgrad as rg

HIGH = np.array([1000.0, 1001.0, 1002.5])
LOW = np.array([-1000.0, -1000.0, -1001.0])
FAR = np.array([1e-18, 1e18, -1e18])
MILD = np.array([40.0, -40.0, 0.5])
G, H, W = np.array([1.5, -0.25, 3.0]), np.array([0.3, 2.0, -1.0]), np.array([2.0, 0.5, 1.0])
M = np.array([[0.3, -1.2], [0.7, 0.4], [-0.9, 1.1]])
COTANGENT, DIRECTION = np.array([1.0, -2.0, 0.5]), np.array([0.7, -0.3, 1.1])
ROWS = [np.stack([HIGH, LOW]), np.stack([FAR, [1.0, 2.0, 3.0]])]
LABELS = np.array([2, 0])


NOT_YET: set[str] = set()
"""Spellings that no relation reaches, in their value or in a gradient: they must be told when one does."""


def kept(x: Any, axis: Any = -1) -> Any:
    return np.sum(x, axis=axis, keepdims=True)


def softmax(x: Any, axis: Any = -1) -> Any:
    return np.exp(x) / kept(np.exp(x), axis)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def compiled(text: str) -> Callable[[Any], Any]:
    """Return the function of x that the text writes, with e for exp(x) and S for its sum over the last axis."""
    code = compile(text, text, "eval")

    def f(x: Any) -> Any:
        e = np.exp(x)
        return eval(code, globals(), {"x": x, "e": e, "S": kept(e)})

    return f


def listed(forms: str) -> list[Any]:
    missed = pytest.mark.xfail(strict=True, reason="no relation reaches this spelling yet")
    texts = [form.strip() for form in forms.strip().split(";") if form.strip()]
    return [pytest.param(text, marks=missed if text in NOT_YET else (), id=text) for text in texts]


def weighed(f: Callable[[Any], Any], x: Any) -> Callable[[Any], Any]:
    """Return Σ w·f for fixed weights w."""
    shape = np.shape(f(0.0 * x))
    w = np.resize(COTANGENT, shape)
    return lambda x: np.sum(w * f(x))


def assert_near(got: Any, want: Any, scale: float, what: str) -> None:
    got = np.asarray(got)
    assert got.shape == want.shape, what
    np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10 * scale, err_msg=what)


def check(text: str, points: list[Any], orders: str = "default eager second") -> None:
    f = compiled(text)
    for x in points:
        want = ball_oracle.value(f, x)
        assert_near(rg.stabilize(f)(x), want, 1e-290, f"value at {x}")
        cost = weighed(f, x)
        slope = ball_oracle.gradient(cost, x)
        scale = float(np.max(np.abs(slope), initial=1e-3))
        for how in ("default", "eager"):
            if how in orders:
                assert_near(rg.grad(cost, strategy=how)(x), slope, scale, f"{how} gradient at {x}")
        if "second" in orders:
            v, first = np.resize(DIRECTION, x.shape), rg.grad(cost)
            want = ball_oracle.curvature(cost, x, v)
            scale = float(np.max(np.abs(want), initial=1e-3))
            assert_near(
                rg.grad(lambda x, v=v, first=first: np.sum(first(x) * v))(x),
                want,
                scale,
                f"second order at {x}",
            )


@pytest.mark.sampled(24)
@pytest.mark.parametrize(
    "text",
    listed("""
    1/(S/e); 1/(S*np.exp(-x)); e/S/S*S; e/np.sqrt(S*S); np.sqrt(e*e)/S; np.sqrt(e)*np.sqrt(e)/S; (e + e)/S;
    (2*e - e)/S; e/(S + S); e/np.sum(2*np.exp(x)); np.exp(x*2/2)/S; np.exp(x + x)/kept(e**2); e*e/(S*S); (e/S)**2;
    np.square(e/S); (e/S)*(1 - e/S); e/S*S/S; e/S - e/S; 1 - e/S; (S - e)/S; e*(S - e)/S**2; e/np.abs(S);
    np.abs(e)/S; np.sum(e*G)/S; e @ G/S; (np.sum(G*e) + np.sum(H*e))/S; (G*e + np.sum(H*e))/S; np.mean(G*e)/np.mean(e);
    e/S*(G - np.dot(G, e)/S); e/S*(e/S @ W); (np.diag(softmax(x)) - np.outer(softmax(x), softmax(x))) @ G;
    e*(1/S) - (G*(1/S))*e; (G*e*S - e*np.sum(G*e))/S**2; (G*S - np.sum(G*e))*e/(S*S);
    e/np.dot(W, e); e/np.sum(W*e); G*e/np.sum(W*e); W*e/(W @ e); e[1]/S; np.exp(x[1])/S; (e/S)[1]; (e/S)[0]*(e/S)[1];
    np.exp(e/S)/np.sum(np.exp(e/S)); np.tanh(G*e/S); np.cumsum(e/S); np.prod(e/S + 1); np.clip(e/S, 0.01, 1.0)
    """),
)
def test_a_softmax_inside_other_things(text: str) -> None:
    check(text, [HIGH, LOW, FAR])


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "text",
    listed("""
    S/e; 1/(e/S); (e/S)**-1; G*S/e; np.sqrt(e/S); (e/S)**0.5; np.sqrt(e)/np.sqrt(S); (e/S)**1.5; (e/S)**-0.5;
    (e/S)**3; e/np.sqrt(np.sum(e*e)); (e/S)/np.sqrt(np.sum((e/S)**2)); 1/((S/e)*(S/e)); (e/S)/(1 - e/S)
    """),
)
def test_a_power_of_a_softmax(text: str) -> None:
    check(text, [HIGH, LOW])


@pytest.mark.sampled(12)
@pytest.mark.parametrize(
    "text",
    listed("""
    (np.exp(x).T/np.exp(x).sum(axis=1)).T; np.exp(x)/np.exp(x).T.sum(axis=0)[:, None]; e/e.sum(1).reshape(-1, 1);
    e/np.broadcast_to(S, (2, 3)); np.stack([softmax(x[0]), softmax(x[1])]); softmax(x.ravel()).reshape(2, 3);
    e/(e @ np.ones((3, 1))); e/(e @ np.ones(3))[:, None]; softmax(x) @ M; (e @ M)/S; e @ M/e.sum(1)[:, None];
    e/np.sum(np.sum(e, axis=0, keepdims=True), axis=1, keepdims=True); softmax(x, 0)*softmax(x, 1);
    np.moveaxis(softmax(np.moveaxis(x, 0, -1)), -1, 0); (lambda p: p/kept(p, 0))(softmax(x));
    (lambda p: p/kept(p))(np.array([1.0, 0.0, 1.0])*e); softmax(softmax(x), 0); softmax(x).T @ softmax(x)
    """),
)
def test_rows_of_softmaxes(text: str) -> None:
    check(text, ROWS)


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    "text",
    listed("""
    np.log(e/S)[1]; np.log((e/S)[1]); np.log(e[1]/S); x[1] - np.log(np.sum(e)); np.log(W*e/S); np.log(e/S/W);
    np.log((e/S)**2); np.log(np.sqrt(e/S)); np.log(1/(e/S)); np.log2(e/S); np.log10(e/S); np.log(np.prod(e/S));
    np.log((e/S)[0]*(e/S)[1]); np.sum(e/S*np.log(e/S)); (e/S)*(np.log(e/S) - np.sum(np.log(e/S)*(e/S)));
    np.log(S*S); np.log(3*S); np.log(S/3); np.log(np.mean(e)); np.log(W @ e);
    np.log(np.dot(e, W)); np.log(e @ np.ones(3));
    np.log(np.sum(W*e)); np.log(S/kept(np.exp(x/2))); np.log(S*kept(np.exp(x/2))); np.log(1 + S); np.log1p(S);
    np.log(np.exp(x[0]) + np.exp(x[1])); np.log(np.exp(x[0]) + np.exp(x[1]) + np.exp(x[2])); np.log(np.sum(e**2));
    np.log(np.sum(1/e)); 0.1*np.log(np.sum(np.exp(x/0.1))); 1/np.sum(np.exp(x[None, :] - x[:, None]), axis=1)
    """),
)
def test_logarithms(text: str) -> None:
    check(text, [HIGH, LOW])


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "text",
    listed("""
    -np.mean(np.log(softmax(x)[np.arange(2), LABELS])); -np.mean(np.log(e[np.arange(2), LABELS]/e.sum(1)));
    -np.log(np.exp(x[np.arange(2), LABELS])/e.sum(1)).sum();
    -np.log(np.take_along_axis(softmax(x), LABELS[:, None], axis=1)).mean();
    -np.sum(np.eye(3)[LABELS]*np.log(softmax(x)))/2; -np.log(np.sum(np.eye(3)[LABELS]*softmax(x), axis=1)).mean();
    np.log(softmax(x[:, :2] @ M.T + G)); np.log(softmax(x - x.max(1, keepdims=True)))
    """),
)
def test_cross_entropies(text: str) -> None:
    check(text, [ROWS[0]])


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    "text",
    listed("""
    1/(1 + 1/e); G/(1 + np.exp(-x)); e*(1/(1 + e)); e/(1 + e)**2; sigmoid(x)*(1 - sigmoid(x)); 1/(1 + np.exp(-x))**2;
    np.sqrt(sigmoid(x)); 1/np.sqrt(1 + np.exp(-x)); x/(1 + np.exp(-x)); 2*sigmoid(x) - 1 + 0*x; 1/(1 + 2.5*np.exp(-x));
    1/(3 + np.exp(-x)); 1/((1 + np.exp(-x))*(1 + np.exp(-2*x))); np.exp(x)/(np.exp(x) + np.exp(G));
    1/(1 + np.exp(-3*(x - 0.5)));
    np.sin(sigmoid(x)); np.prod(sigmoid(x)); np.log(1 + e) - x; x - np.log(1 + e);
    np.log(sigmoid(x)) + np.log(sigmoid(-x));
    np.log(2 + e); np.log(1 + 2*e); np.log(0.5 + 0.5*e); np.log((1 + e)**2); np.log(np.prod(sigmoid(x)));
    np.log1p(-sigmoid(x/10)); np.log(1 - e/(1 + e)); np.log(1 + np.exp(3*x))/3; np.where(x > 0, x, np.exp(x) - 1)
    """),
)
def test_logistics(text: str) -> None:
    check(
        text, [MILD, np.array([800.0, -700.0, 3.0])] if "1 -" not in text and "1p(-" not in text else [MILD]
    )


PRINTED = listed("""
    (e/np.sum(e, axis=None)) + (np.sum((np.array([-1.0])*e)/(np.sum(e, axis=None)*np.sum(e, axis=None)), axis=None)*e);
    e/kept(e) + kept(np.array([-1.0])*e/(kept(e)*kept(e)))*e; e/S - np.sum(e/np.square(S))*e; e/S - e*np.sum(e/S/S);
    e/S[None][0] + np.sum(-1.0*e/(np.sum(e)*S))*e; e*(1/S + np.sum(np.array([-1.0])*e/(S*S)));
    -(np.sum(e/(S*S))*e - e/S); e*np.reciprocal(S) + np.sum(-e*np.reciprocal(S*S))*e; (e*S - e*np.sum(e))/S**2;
    2*(e/S + np.sum(-e/(S*S))*e); np.sum(e/S + np.sum(-e/(S*S))*e); x*(e/S - np.sum(e/(S*S))*e);
    np.exp(-x)/np.sum(np.exp(-x)) - np.sum(np.exp(-x)/np.sum(np.exp(-x))**2)*np.exp(-x)
    """)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("how", ["default", "eager"])
@pytest.mark.parametrize("text", PRINTED)
def test_the_gradient_of_the_issue_as_a_user_types_it_is_zero(text: str, how: str) -> None:
    f = compiled(text)
    for x in (FAR, HIGH, LOW):
        np.testing.assert_array_equal(rg.stabilize(f, strategy=how)(x), np.zeros(np.shape(f(np.zeros(3)))))
        np.testing.assert_allclose(rg.grad(weighed(f, x), strategy=how)(x), np.zeros(3), atol=1e-12)


def test_the_oracle_is_right_and_says_when_it_is_lost() -> None:
    x = np.array([0.3, -1.1, 2.0])
    p = np.exp(x) / np.exp(x).sum()
    np.testing.assert_allclose(ball_oracle.value(softmax, x), p, rtol=1e-14)
    f = weighed(softmax, x)
    g = p * (COTANGENT - p @ COTANGENT)
    np.testing.assert_allclose(ball_oracle.gradient(f, x), g, rtol=1e-13)
    hessian = np.diag(g) - np.outer(g, p) - np.outer(p, g)
    np.testing.assert_allclose(ball_oracle.curvature(f, x, DIRECTION), hessian @ DIRECTION, rtol=1e-12)
    with pytest.raises(ArithmeticError, match="lost its digits"):
        ball_oracle.value(lambda x: (x + np.exp(x)) - np.exp(x), np.array([1e4]))
