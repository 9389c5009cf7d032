"""Implicit gradients: ops that stay in the graph until they are expanded, one layer at a time.

`Gradient` is the pullback state: pairs of a value and its cotangent, and what is asked for. One expansion replaces
the topologically last value by its operands with their cotangents accumulated, so no path is walked twice and the
whole is linear in the graph. `Pushforward` is its forward-mode twin.

Source: the implicit `Gradient` op of Aesara's issue on staged expansions (Theano #4452); changed from the source: the
state is held in the graph itself, so that an expansion can stop anywhere.
"""

from __future__ import annotations

import heapq
from collections.abc import Container, Iterator, Sequence
from typing import Any

from relgrad.bounds import range_of
from relgrad.constancy import where_moving, without_infinite
from relgrad.conventions import DEFAULT, Conventions
from relgrad.dependence import dependent, depths
from relgrad.errors import GradientError
from relgrad.leaf import Anchor, Input, Known
from relgrad.op import Op, Pack, Project, as_term, constant, outputs_of
from relgrad.ops.arithmetic import add, subtract
from relgrad.ops.casting import cast
from relgrad.ops.conventional import Ruled
from relgrad.ops.reduction import Sum
from relgrad.ops.structure import broadcast_like, broadcast_to, squeeze
from relgrad.support import vanishes
from relgrad.term import Term, is_term, nearest_where, reachable, substitute, subterms, term
from relgrad.trace.tracer import Tracer
from relgrad.types import ArrayType, NullType, Shape, TupleType, Type


class Gradient(Op):
    """∂(Σ ⟨cotangent, value⟩)/∂wrt → expanded, never computed: an implicit gradient.

    Operands: `pairs` values, as many cotangents, and then what is differentiated for, an output each.
    """

    __props__ = ("pairs",)
    pairs: int
    implicit = True

    def type_of(self, rands: tuple[Term, ...]) -> Type:
        return TupleType(tuple(x.type for x in rands[2 * self.pairs :]))

    def parts(self, node: Term) -> tuple[tuple[Term, ...], tuple[Term, ...], tuple[Term, ...]]:
        """Return the values, their cotangents, and what is differentiated for."""
        n = self.pairs
        return node.rands[:n], node.rands[n : 2 * n], node.rands[2 * n :]

    def wrt(self, node: Term) -> tuple[Term, ...]:
        """Return what is differentiated for."""
        return node.rands[2 * self.pairs :]


class Pushforward(Op):
    """ẏ = Σ ∂y/∂x·ẋ, implicit like `Gradient`: the tangents of values, given those of some inputs.

    Operands: `values` values, an output each; then the inputs; then as many tangents.
    """

    __props__ = ("values",)
    values: int
    implicit = True

    def type_of(self, rands: tuple[Term, ...]) -> Type:
        return TupleType(tuple(x.type for x in rands[: self.values]))

    def parts(self, node: Term) -> tuple[tuple[Term, ...], tuple[Term, ...], tuple[Term, ...]]:
        """Return the values, the inputs, and the inputs' tangents."""
        rest = node.rands[self.values :]
        return node.rands[: self.values], rest[: len(rest) // 2], rest[len(rest) // 2 :]

    def wrt(self, node: Term) -> tuple[Term, ...]:
        """Return the inputs."""
        return self.parts(node)[1]


def gradient(pairs: Sequence[tuple[Term, Term]], wrt: Sequence[Term]) -> list[Term]:
    """Return the implicit gradients of Σ ⟨cotangent, value⟩ with respect to each of `wrt`."""
    values, cotangents = [v for v, _ in pairs], [g for _, g in pairs]
    return outputs_of(term(Gradient(len(pairs)), *values, *cotangents, *wrt))


def derivative(root: Term, x: Term, conventions: Conventions = DEFAULT) -> Term:
    """sin(x) → cos(x): the explicit derivative of the sum of a term's entries, one layer after the other written
    out.
    """
    pullback = Pullback(gradient([(root, ones_like(root))], [x])[0].rands[0], conventions)
    while pullback.pending:
        pullback.expand()
    return pullback.results()[0]


def pushforward(values: Sequence[Term], inputs: Sequence[Term], tangents: Sequence[Term]) -> list[Term]:
    """Return the implicit tangents of `values` along the tangents of `inputs`."""
    return outputs_of(term(Pushforward(len(values)), *values, *inputs, *tangents))


def ones_like(x: Term) -> Term:
    """Return ones of a value's type: the cotangent of a sum over its entries."""
    return broadcast_like(constant(1.0, x.type.dtype), x)


def zeros_like(x: Term) -> Term:
    """Return zeros of a value's type: the cotangent of what the cost does not depend on."""
    return broadcast_like(constant(0.0, x.type.dtype), x)


def fit_cotangent(g: Term, like: Term) -> Term:
    """g : (2, 3), x : (3,) → Σ₀ g: a cotangent summed down to the shape of its value, in the value's dtype.

    Broadcasting copies entries, so its pullback sums over the copies.
    """
    kind = like.type
    if g.type == kind:
        return g
    extra = g.type.ndim - kind.ndim
    axes = tuple(
        a for a in range(-g.type.ndim, 0) if g.type.shape[a] != 1 and (-a > kind.ndim or kind.shape[a] == 1)
    )
    if axes:
        g = Sum(axes).make_node(g)
    if extra > 0:
        g = squeeze(g, tuple(range(-g.type.ndim, -kind.ndim)))
    if g.type.shape != kind.shape:
        g = broadcast_like(g, like) if None in kind.shape else broadcast_to(g, kind.shape)
    return g if g.type.dtype == kind.dtype else cast(g, kind.dtype)


def _check_shape(what: str, g: Term, of: Term, shapes: Sequence[Shape]) -> None:
    """g : (2, 3) for (3,) beside (2, 1) → passes, g : (4,) for (3,) → GradientError:
    extents are those of the value, or 1.

    A rule may leave it to the system to sum over the copies that broadcasting made: along an axis where the value has
    extent 1, or none, an extent of another operand or of the result.
    """
    for axis in range(-g.type.ndim, 0):
        n, extent = g.type.shape[axis], of.type.extent(axis)
        stretched = extent == 1 and any(axis >= -len(shape) and shape[axis] == n for shape in shapes)
        if n not in (1, extent) and None not in (n, extent) and not stretched:
            raise GradientError(
                f"{what} of shape {g.type.shape} for a value of shape {of.type.shape}",
                cause=f"no array there has the extent {n} along axis {axis}",
                cure="return an array of the shape of the value, or one that broadcasts to it",
            )


class Pullback:
    """⟨g, sin(x)·y⟩ → ⟨g·y, sin(x)⟩, ⟨g·sin(x), y⟩ → …: a gradient while it is expanded, pairs in topological order."""

    def __init__(self, node: Term, conventions: Conventions = DEFAULT):
        """∂⟨g, v⟩/∂x → cotangents {v: g}, of the values that depend on x."""
        self.conventions = conventions
        values, cotangents, self.wrt = node.op.parts(node)
        self.relevant = dependent(values, self.wrt)
        self.depth = depths(values)
        self.cotangents: dict[Term, Any] = {}
        self.done: dict[Term, Term] = {}
        self.heap: list[tuple[int, int, Term]] = []
        self.count = 0
        for v, g in zip(values, cotangents, strict=True):
            self._accumulate(v, g)

    def _accumulate(self, v: Term, g: Term) -> None:
        """{v: g} + (v, h) → {v: g + h}: one more contribution to a value; none to what nothing asked for depends on."""
        if v not in self.relevant:
            return
        if v.op.__class__ is Project:
            slots = self.cotangents.get(v.rands[0])
            if slots is None:
                slots = self.cotangents[v.rands[0]] = {}
                self._push(v.rands[0])
            slots[v.op.index] = add(slots[v.op.index], g) if v.op.index in slots else g
        elif v in self.cotangents:
            self.cotangents[v] = add(self.cotangents[v], g)
        else:
            self.cotangents[v] = g
            self._push(v)

    def _push(self, v: Term) -> None:
        heapq.heappush(self.heap, (-self.depth[v], self.count, v))
        self.count += 1

    @property
    def pending(self) -> bool:
        return bool(self.heap)

    @property
    def next(self) -> tuple[Term, Any]:
        """The value that is expanded next, and its cotangent; of several outputs, a dict."""
        v = self.heap[0][2]
        return v, self.cotangents[v]

    def expand(
        self, flows: Sequence[tuple[Term, Term]] | None = None
    ) -> tuple[Term, Any, Sequence[tuple[Term, Term]]]:
        """⟨g, sin(x)⟩ → (sin(x), g, [(x, g·cos(x))]): one layer:
        the value, its cotangent, and the flows to its operands.

        `flows`, if given, are what a relation knows: they may go further down than to the operands.
        """
        _, _, v = heapq.heappop(self.heap)
        g = self.cotangents.pop(v)
        if v in self.wrt:
            self.done[v] = add(self.done[v], g) if v in self.done else g
        if flows is None:
            flows = flows_of(v, g, self.relevant, self.conventions)
        for operand, contribution in flows:
            self._accumulate(operand, contribution)
        return v, g, flows

    def term(self) -> Term:
        """cotangents {v: g}, done {x: h} → ∂(⟨h, x⟩ + ⟨g, v⟩)/∂x: the implicit gradient that is left to expand."""
        pairs: list[tuple[Term, Term]] = list(self.done.items())
        for v, g in self.cotangents.items():
            if isinstance(g, dict):
                pairs.extend((term(Project(i), v), part) for i, part in g.items())
            else:
                pairs.append((v, g))
        return term(Gradient(len(pairs)), *[v for v, _ in pairs], *[g for _, g in pairs], *self.wrt)

    def results(self) -> list[Term]:
        """Return the explicit gradients, zeros where the cost does not depend on what is asked for."""
        return [self.done[x] if x in self.done else zeros_like(x) for x in self.wrt]


def flows_of(
    v: Term, g: Any, relevant: set[Term], conventions: Conventions = DEFAULT
) -> list[tuple[Term, Term]]:
    """(x·y, g) → [(x, g·y), (y, g·x)]: the operands of a value with the flows of its cotangent:
    one layer of an expansion.
    """
    moving = g if isinstance(g, dict) or conventions.ieee else where_moving(v, g)
    return list(pull_back(v, moving, relevant, conventions)) if v.rands else []


def pull_back(
    v: Term, g: Any, relevant: set[Term], conventions: Conventions = DEFAULT
) -> Iterator[tuple[Term, Term]]:
    """(x·y, g) → (x, g·y), (y, g·x): the operands of a value with the flows to them, one layer deep, by the op's own
    rule.
    """
    own = outputs_of(v)
    outputs = [Tracer(x) for x in own]
    parts = g if isinstance(g, dict) else dict.fromkeys(range(len(outputs)), g)
    gradients = [Tracer(parts[i]) if i in parts else None for i in range(len(outputs))]
    # An operand that nobody asks about gets no cotangent, so its rule is not even run where rules are rows.
    cotangents = _ruled(v, conventions).L_op([Tracer(x) for x in v.rands], outputs, gradients)
    if len(cotangents) != len(v.rands):
        raise GradientError(f"op {v.op} returned {len(cotangents)} cotangents for {len(v.rands)} operands")
    shapes = [x.type.shape for x in (*v.rands, *own) if isinstance(x.type, ArrayType)]
    ieee = conventions.ieee
    for operand, cotangent in zip(v.rands, cotangents, strict=True):
        if operand not in relevant or cotangent is None:
            continue
        if (contribution := _known(v, as_term(cotangent))) is None:
            continue
        if operand.type.differentiable:
            if isinstance(g, Term) and v.op.elementwise and not ieee:
                contribution = without_infinite(v, g, contribution)
                if (
                    v.op.distance is not None
                ):  # its own slope may be infinite where x is y, as that of √(x² − y²)
                    contribution = where_moving(v, contribution)
            if contribution.type != operand.type:
                _check_shape(f"the pullback of {v.op} returns a cotangent", contribution, operand, shapes)
            if ieee or not vanishes(contribution):
                yield operand, fit_cotangent(contribution, operand)


def _ruled(v: Term, conventions: Conventions) -> Op:
    """max(x, y) → max with the rules of x, where x − y ≥ 0 everywhere: the op by whose rules a value is differentiated.

    Where it is one of its parts everywhere there is no kink, not at ties either, and no convention has a say.
    """
    if v.op.one_part is not None and v.type.differentiable:
        rules = v.op.one_part(range_of(v.rands[0] if len(v.rands) == 1 else subtract.make_node(*v.rands)))
        if rules is not None:
            return Ruled(v.op, *rules)  # pyright: ignore[reportArgumentType]  # an elementwise op answers
    return v.op.under(conventions)


def push_forward(
    op: Op, v: Term, points: Sequence[Term | None], conventions: Conventions = DEFAULT
) -> list[Term | None]:
    """ẏ = J·ẋ = ∂⟨Jᵀ·ȳ, ẋ⟩/∂ȳ: the tangents of a value's outputs by the op's own rule, or its pullback transposed.

    The pullback is linear in ȳ, so that its derivative is the same at every ȳ, which is 1 here.
    """
    inputs = [Tracer(x) for x in v.rands]
    found = op.R_op(inputs, [None if p is None else Tracer(p) for p in points])
    if found is not None:
        return [None if t is None else as_term(t) for t in found]
    outputs = outputs_of(v)
    seeds = [term(Input(f"g{i}", y.type, symbol=True)) for i, y in enumerate(outputs)]
    flowing = [Tracer(g) if y.type.differentiable else None for g, y in zip(seeds, outputs, strict=True)]
    pairs = []
    for x, cotangent, tangent in zip(
        v.rands, op.L_op(inputs, [Tracer(y) for y in outputs], flowing), points, strict=True
    ):
        known = None if cotangent is None or tangent is None else _known(v, as_term(cotangent))
        if known is not None:
            pairs.append((fit_cotangent(known, x), tangent))
    if not pairs:
        return [None] * len(outputs)
    pullback = Pullback(gradient(pairs, seeds)[0].rands[0], conventions)
    while pullback.pending:
        pullback.expand()
    ones = {g: ones_like(y) for g, y in zip(seeds, outputs, strict=True)}
    return [substitute([pullback.done[g]], ones)[0] if g in pullback.done else None for g in seeds]


def _known(v: Term, cotangent: Term) -> Term | None:
    """Return a cotangent that is an array, and None for one that is known to be zero; raises for an undefined one."""
    if type(cotangent.op) is not Known:
        return cotangent
    if isinstance(cotangent.type, NullType):
        raise GradientError(f"the gradient through {v.op} is undefined", cause=cotangent.type.why)
    return None


class Tangents:
    """sin(x), ẋ → cos(x)·ẋ: a pushforward while it is expanded:
    values in topological order, and the tangents so far.
    """

    def __init__(self, node: Term, conventions: Conventions = DEFAULT):
        """ẏ of x, ẋ → tangents {x: ẋ}, and the values that depend on x, operands first."""
        self.conventions = conventions
        self.values, inputs, tangents = node.op.parts(node)
        self.relevant = dependent(self.values, inputs)
        self.tangents: dict[Term, Any] = dict(zip(inputs, tangents, strict=True))
        self.order = iter(
            [v for v in subterms(*self.values) if v in self.relevant and v not in self.tangents]
        )

    def expand(self) -> tuple[Term, list[Any]] | None:
        """sin(x) → (sin(x), [cos(x)·ẋ]): one layer: the next value and the tangents of its outputs, or None at the
        end.
        """
        v = next(self.order, None)
        if v is None:
            return None
        if type(v.op) is Project:
            found = self.tangents.get(v.rands[0])
            self.tangents[v] = found[v.op.index] if found else None
            return v, [self.tangents[v]]
        points = [self.tangents.get(x) for x in v.rands]
        if all(p is None for p in points):
            self.tangents[v] = None
            return v, [None]
        results = push_forward(_ruled(v, self.conventions), v, points, self.conventions)
        fitted: list[Any] = list(results)
        for i, (r, out) in enumerate(zip(results, outputs_of(v), strict=True)):
            if r is not None:
                _check_shape(f"the pushforward of {v.op} returns a tangent", r, out, [])
                fitted[i] = None if self._is_nothing(r) else self._moving(fit_cotangent(r, out), out)
        self.tangents[v] = fitted if isinstance(v.type, TupleType) else fitted[0]
        return v, fitted

    def _moving(self, tangent: Term, out: Term) -> Term:
        return tangent if self.conventions.ieee else where_moving(out, tangent)

    def _is_nothing(self, tangent: Term) -> bool:
        return vanishes(tangent) and not self.conventions.ieee

    def results(self) -> list[Term]:
        """Return the tangents of the values, zeros where they do not depend on the inputs."""
        found = [self.tangents.get(v) for v in self.values]
        return [zeros_like(v) if t is None else t for v, t in zip(self.values, found, strict=True)]


def is_implicit(t: Any) -> bool:
    """Whether a term is a gradient or pushforward that has not been expanded."""
    return is_term(t) and t.op.implicit


def packed(results: Sequence[Term], wrt: Sequence[Term]) -> Term:
    """Put the values back that stood behind the variables of differentiation, and pack the results."""
    anchors: dict[Term, Any] = {x: x.rands[0] for x in wrt if type(x.op) is Anchor}
    return term(Pack(), *(substitute(results, anchors) if anchors else results))


def grounded(roots: Sequence[Term]) -> list[Term]:
    """Return roots with inputs in place of the variables of differentiation that stand for them.

    ∂f(a)/∂a at a = x ⟶ ∂f(x)/∂x, so that f(x) is one term, inside a gradient and beside it. A variable stays where its
    input occurs in what is differentiated in other ways too, or has two of them: there it tells them apart.
    """
    outer = nearest_where(roots, is_implicit)
    if not outer:
        return list(roots)
    anchors: dict[Term, Any] = {}
    for node in outer:
        values, wrt = node.op.parts(node)[0], node.op.wrt(node)
        own = {a: a.rands[0] for a in wrt if type(a.op) is Anchor and type(a.rands[0].op) is Input}
        met = _reached(values, own)
        distinct = len(set(own.values())) == len(own)
        anchors |= {a: None if x in met or not distinct else x for a, x in own.items()}
    standing = {a: x for a, x in anchors.items() if x is not None}
    return (
        substitute(roots, dict(zip(outer, substitute(outer, standing), strict=True)))
        if standing
        else list(roots)
    )


def _reached(roots: Sequence[Term], border: Container[Term]) -> set[Term]:
    """Return the terms below the roots that a walk meets which does not go beyond some."""
    inside = lambda terms: [x for x in terms if x not in border]
    return reachable(*inside(roots), below=lambda t: inside(t.rands))


def check_differentiable(x: Term, name: str) -> None:
    """x : float → passes, x : int → GradientError: where a derivative with respect to x makes no sense."""
    if not x.type.differentiable:
        raise GradientError(
            f"cannot differentiate with respect to {name}, which has dtype {x.type.dtype}",
            cause="derivatives are defined for floating point arguments only",
            cure="pass floats, as x.astype(float), or choose other arguments with argnums",
        )


def free_anchors(roots: Sequence[Term]) -> list[Term]:
    """Return the variables of differentiation below the roots that no implicit derivative there introduces."""
    nodes = list(subterms(*roots))
    own = {x for node in nodes if is_implicit(node) for x in node.op.wrt(node)}
    return [node for node in nodes if type(node.op) is Anchor and node not in own]
