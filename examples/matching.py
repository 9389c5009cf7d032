"""A tour of matching modulo theories: what a pattern finds, laws, relations run backwards and anywhere."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from kanren import run, var

import relgrad as rg


def say(question: str, answer: Any) -> None:
    """Print a question and, indented, what came of it."""
    lines = map(rg.show, answer) if isinstance(answer, tuple) and answer else str(answer).splitlines()
    print(question)
    for line in lines:
        print("   ", line)
    print()


def named(ops: Iterable[Any]) -> str:
    """Return the names of ops."""
    return ", ".join(map(str, ops))


@rg.relation(source="double angle")
def double_angle(x):
    """Twice the product of sine and cosine."""
    return 2 * np.sin(x) * np.cos(x), np.sin(2 * x)


class Meet(rg.Op):
    """The smaller of two numbers, as an op that only its laws are known of."""

    __props__ = ()
    laws = rg.Laws(associative=True, commutative=True, idempotent=True)

    def output_type(self, *types):
        return types[0]


def patterns() -> None:
    """Match and unify, under several theories."""
    say(
        "exp(a) + b in y + exp(x) + z:",
        rg.match(lambda a, b: np.exp(a) + b, lambda x, y, z: y + np.exp(x) + z),
    )
    quotient = (lambda a, b: a / b), (lambda x, y: x * np.exp(-y))
    say("a / b in x * exp(-y), over the reals:", rg.match(*quotient))
    say("the same, by the laws that ops declare alone:", rg.match(*quotient, theory=rg.DECLARED))
    sums = (lambda x, y: x + y), (lambda z, w: z + w)
    say("x + y = z + w, where 0 + x = x:", rg.unify(*sums))
    say("x + y = z + w, without:", rg.unify(*sums, theory=rg.AC))


def laws() -> None:
    """Ask ops for their laws, laws for their ops, and give an op laws of its own."""
    q, e = var(), var()
    say("What turns sums into products?", named(run(0, q, rg.homomorphism(q, np.add, np.multiply))))
    say("What undoes log?", named(run(0, q, rg.inverse(np.log, q))))
    say("What has -inf as its identity?", named(run(0, q, rg.identity(q, -np.inf))))
    meet = Meet()
    say(
        "meet(a, exp(a)) in meet(x, meet(exp(x), x)):",
        rg.match(lambda a: meet(a, np.exp(a)), lambda x: meet(x, meet(np.exp(x), x)), theory=rg.DECLARED),
    )
    say("identities:", named(f"{op}: {unit}" for op, unit in run(4, (q, e), rg.identity(q, e))))


def relations() -> None:
    """Apply a relation in both directions, at the root and anywhere."""
    q, x, y = var(), rg.symbol("x"), rg.symbol("y")
    say("2 sin(x) cos(x) becomes:", run(0, q, double_angle(2 * np.sin(x) * np.cos(x), q)))
    say("sin(2 x) came from:", run(0, q, double_angle(q, np.sin(2 * x))))
    somewhere = np.exp(np.cos(x) * y * np.sin(x) * 2) + np.log(2 * np.sin(y) * np.cos(y))
    say("somewhere inside:", run(0, q, rg.anywhereo(double_angle, somewhere, q)))
    say("everywhere, step by step:", run(0, q, rg.rewriteso(double_angle, somewhere, q)))


if __name__ == "__main__":
    patterns()
    laws()
    relations()
