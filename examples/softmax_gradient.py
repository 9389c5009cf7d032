"""Issue #682 walked through: the gradient of a softmax written by hand, where it turns into NaN."""

from __future__ import annotations

import inspect
import sys
from decimal import Decimal, localcontext

import autograd
import autograd.numpy as anp
import numpy as np
import screen

import relgrad as rg

X = np.array([1e-18, 1e18, -1e18])


def softmax(x):
    return np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)


def cost(x):
    return softmax(x).sum()


def explicit_gradient(x):
    """The graph that Aesara printed in #682: the gradient after it fell apart."""
    e, s = np.exp(x), np.exp(x).sum()
    return e / s + np.sum(-1.0 * e / (s * s)) * e


def weighted_cost(x, w):
    return np.sum(w * softmax(x))


def autograd_cost(x):
    """The same cost, spelled for autograd, which needs its own NumPy."""
    return anp.sum(anp.exp(x) / anp.sum(anp.exp(x), axis=-1, keepdims=True))


def exact_weighted_gradient(x, w):
    """p·(w - Σ p·w) in 60 decimal digits, from Python's own `decimal`."""
    with localcontext() as context:
        context.prec = 60
        xs, ws = [Decimal(float(v)) for v in x], [Decimal(float(v)) for v in w]
        es = [v.exp() for v in xs]
        ps = [e / sum(es) for e in es]
        mean = sum(p * v for p, v in zip(ps, ws, strict=True))
        return np.array([float(p * (v - mean)) for p, v in zip(ps, ws, strict=True)])


def main() -> bool:
    screen.title("(a) Issue #682: the gradient of a softmax")
    screen.heading("The function, as a textbook has it")
    screen.code(inspect.getsource(softmax) + "\n" + inspect.getsource(cost))
    screen.say(f"at x = {X}. A softmax sums to one, so the gradient of the sum is exactly zero.")

    screen.heading("The naive result")
    with np.errstate(all="ignore"):
        by_autograd = autograd.grad(autograd_cost)(X)
        by_hand = explicit_gradient(X)
        exponentials = np.exp(X)
        naive_softmax = softmax(X)
    screen.table(
        [["autograd.grad(cost)(x)", str(by_autograd)], ["the explicit graph of #682", str(by_hand)]],
        ["", "value"],
    )

    screen.heading("What is wrong with it")
    screen.table(
        [
            ["np.exp(x)", str(exponentials), "float64 ends at 1.8e308, so exp(x) overflows beyond x = 709.8"],
            ["np.exp(x) / sum", str(naive_softmax), "∞/∞ is NaN, and 0/∞ hides it elsewhere"],
        ],
        ["intermediate", "value", "why"],
    )
    screen.say(
        "Shifting by the maximum repairs the softmax, but not what its gradient is made of: the quotient"
    )
    screen.say(
        "rule brings the sum of exponentials back squared, in a form that no softmax pattern looks like."
    )

    screen.heading("relgrad.grad(cost): the relations that fired while the gradient was still implicit")
    grad = rg.grad(cost)
    result = grad(X)
    screen.verbatim(grad.explain(X))
    screen.heading("The generated source, and its result")
    screen.code(grad.source(X))
    screen.say(f"    {result}")

    screen.heading("And if the gradient has already fallen apart? The explicit graph of #682, stabilised")
    screen.code(_body(explicit_gradient))
    stable = rg.stabilize(explicit_gradient)
    repaired = stable(X)
    screen.verbatim(stable.explain(X))
    screen.heading("Its generated source, and its result")
    screen.code(stable.source(X))
    screen.say(f"    {repaired}")

    screen.heading("A gradient that is not zero: weights 1, 2, 3 on the three probabilities")
    x, w = np.array([1000.0, 1001.0, 1002.0]), np.array([1.0, 2.0, 3.0])
    weighted = rg.grad(weighted_cost)
    value, exact = weighted(x, w), exact_weighted_gradient(x, w)
    error = float(np.max(np.abs(value - exact) / np.abs(exact)))
    screen.verbatim(weighted.explain(x, w))
    screen.code(weighted.source(x, w))
    screen.table(
        [
            ["relgrad", "  ".join(f"{v:.16g}" for v in value)],
            ["60 decimal digits", "  ".join(f"{v:.16g}" for v in exact)],
        ],
        [f"at x = {x}", "gradient"],
    )
    screen.say(
        f"    largest relative error: {error:.1e} ({error / np.finfo(float).eps:.1f} machine epsilons)"
    )

    zero = np.zeros(3)
    return screen.verdict(
        {
            "the naive gradients are NaN": bool(np.isnan(by_autograd).any() and np.isnan(by_hand).any()),
            "relgrad's gradient is exactly zero": bool(np.array_equal(result, zero)),
            "the explicit graph, stabilised, is exactly zero too": bool(np.array_equal(repaired, zero)),
            "the weighted gradient is right to 1e-14": error < 1e-14,
        }
    )


def _body(function) -> str:
    """Return the source of a function without its docstring."""
    lines = inspect.getsource(function).split("\n")
    return "\n".join(line for line in lines if not line.strip().startswith('"""'))


if __name__ == "__main__":
    sys.exit(not main())
