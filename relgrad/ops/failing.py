"""Whether computing an op raises: what decides where a function goes on in a handler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relgrad.kernels import fails
from relgrad.op import Op
from relgrad.term import Term, term
from relgrad.types import Type, array_type


class Fails(Op):
    """fails(inv)(singular) = True: whether an op raises for its operands.

    With NumPy told to raise floating-point errors of some `kinds`.
    """

    __props__ = ("op", "kinds")
    imports = ("fails",)
    connected = ()

    def __init__(self, op: Op, kinds: tuple[str, ...] = ()):
        self.op, self.kinds = op, kinds
        self.imports = ("fails", *op.imports)

    def output_type(self, *types: Any) -> Type:
        return array_type(np.bool_, ())

    def _asked(self, node: Term) -> Term:
        return term(self.op, *node.rands)

    def perform(self, node: Term | None, inputs: list[Any], output_storage: list[list[Any]]) -> None:
        assert node is not None
        asked = self._asked(node)
        raised = fails(lambda: asked.op.evaluate(asked, inputs), **dict.fromkeys(self.kinds, "raise"))
        output_storage[0][0] = np.bool_(raised)

    def source(self, node: Term, names: Sequence[str]) -> str | None:
        inner = self.op.source(self._asked(node), names)
        options = "".join([f", {kind}='raise'" for kind in self.kinds])
        return None if inner is None else f"fails(lambda: {inner}{options})"
