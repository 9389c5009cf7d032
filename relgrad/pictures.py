"""Pictures of functions: their derivations step by step, their graphs, and their errors along inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relgrad.api import stabilize
from relgrad.display.derivation import Explanation
from relgrad.display.steps import Steps
from relgrad.transformed import Transformed


def steps(subject: Callable[..., Any] | Explanation, *args: Any, bits: bool = False) -> Steps:
    """Return the steps by which a function becomes what is computed for some arguments, to go through one by one.

    `subject` is a function, which is stabilised; what `grad`, `stabilize` and the others return; or what `explain`
    returned. Each step shows the whole program before and after, the law, its source, and what it gained; with `bits`,
    also how many bits are lost at the arguments before and after. In a notebook the steps open and close;
    `.widget()` is live, `.save(path)` writes a page, and `print` shows them as text.

    >>> import numpy as np
    >>> print(steps(lambda x: np.log(1 + np.exp(x)), 800.0)[0])
    1 of 1: log_of_one_plus_exponential — The log of one plus an exponential is a softplus.
      law:    log(1 + exp(x)) = softplus(x)
      source: Maechler 2012, eq. 10
      gain:   operations 3 → 1; places that overflow or become NaN at the arguments 1 → 0
      before: ⟦log(1.0 + exp(x))⟧
      after:  ⟦softplus(x)⟧

    Raises what tracing the function raises; MissingDependency for bits without python-flint.
    """
    if isinstance(subject, Explanation):
        return Steps(subject, bits=bits)
    program = subject if isinstance(subject, Transformed) else stabilize(subject)
    return Steps(program.explain(*args), bits=bits)
