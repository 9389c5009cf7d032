"""The text of generated code: parentheses, names, literals, layout."""

from __future__ import annotations

import ast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relgrad.compile.layout import WIDTH, wrap
from relgrad.compile.literals import array, number, scalar
from relgrad.syntax import Expr, Names, slots, template, tidy

TEMPLATES = [
    "{} + {}",
    "{} - {}",
    "{} * {}",
    "{} / {}",
    "{} ** {}",
    "-{}",
    "~{}",
    "{} < {}",
    "{} @ {}",
    "{} & {}",
    "{} | {}",
    "f({}, {})",
    "f({}, axis={})",
    "f([{}, {}], 3)",
    "{}[:, None]",
    "{}[{}, 0]",
    "{}.T",
    "({} + {})",
    "({}) * ({})",
    "{} if {} else {}",
    "f({})[0]",
    "2.0 ** {}",
]


@st.composite
def nested(draw: st.DrawFn, depth: int = 3) -> tuple[Expr, str]:
    """An expression as the templates write it, and with every operand in parentheses."""
    if depth == 0 or draw(st.booleans()):
        name = draw(st.sampled_from(["a", "b", "c", "-1.5", "2.0"]))
        return Expr(name, 11 if name[0] == "-" else 13 if name[0] == "2" else 14), f"({name})"
    text = draw(st.sampled_from(TEMPLATES))
    count = text.count("{}")
    parts = [draw(nested(depth - 1)) for _ in range(count)]
    whole = template(text.format(*slots(count)))
    return whole.fill([e for e, _ in parts]), f"({text.format(*[f for _, f in parts])})"


@given(nested())
def test_parentheses_are_right(pair: tuple[Expr, str]) -> None:
    filled, full = pair
    assert ast.dump(ast.parse(filled.text)) == ast.dump(ast.parse(full))


@pytest.mark.parametrize(
    ("text", "operands", "expected"),
    [
        ("{} + {}", [Expr("a + b", 9), Expr("c * d", 10)], "a + b + c * d"),
        ("{} - {}", [Expr("a", 14), Expr("b + c", 9)], "a - (b + c)"),
        ("{} * {}", [Expr("a + b", 9), Expr("-c", 11)], "(a + b) * -c"),
        ("{} ** {}", [Expr("-a", 11), Expr("-2.0", 11)], "(-a) ** -2.0"),
        ("-{}", [Expr("a ** b", 12)], "-a ** b"),
        ("np.exp({})", [Expr("a < b", 4)], "np.exp(a < b)"),
        ("{}[:, None]", [Expr("a @ b", 10)], "(a @ b)[:, None]"),
        ("{}", [Expr("a + b", 9)], "a + b"),
    ],
)
def test_no_needless_parentheses(text: str, operands: list[Expr], expected: str) -> None:
    assert template(text.format(*slots(len(operands)))).fill(operands).text == expected


def test_a_wrapped_template_binds_like_a_name() -> None:
    inner = template("(_slot0_ + _slot1_)").fill([Expr("a"), Expr("b")])
    assert template("_slot0_ * 2").fill([inner]).text == "(a + b) * 2"


@given(st.lists(st.one_of(st.text(max_size=6), st.sampled_from(["np", "sum", "x", "if", "x_2", "t", "1"]))))
def test_names_are_valid_and_never_repeat(wishes: list[str]) -> None:
    names = Names(["x"])
    given_out = [names.take(wish) for wish in wishes] + [names.take("t", numbered=True) for _ in wishes]
    assert len(set(given_out)) == len(given_out)
    for name in given_out:
        exec(f"{name} = 0", {})
        assert name not in ("x", "np", "sum", "if")


def test_a_number_never_makes_two_names_one() -> None:
    names = Names(["t1", "x2"])
    assert [names.take("t", numbered=True), names.take("x"), names.take("x"), names.take("sum")] == [
        "t2",
        "x",
        "x3",
        "sum_1",
    ]
    assert tidy("a-b c") == "a_b_c"


FLOATS = ["float16", "float32", "float64", "longdouble"]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.1, np.inf, -np.inf, np.nan, -np.nan, 5e-324, 1.7e308, 1e-40, 1 / 3, np.pi]


def bits(x: np.ndarray) -> tuple[str, tuple[int, ...], bytes]:
    # The padding bytes of a long double mean nothing.
    data = np.array(x)
    raw = data.tobytes() if data.dtype.itemsize <= 8 else repr([np.signbit(data), data.astype(str)]).encode()
    return data.dtype.str, data.shape, raw


def evaluate(text: str) -> np.ndarray:
    import base64

    return eval(text, {"np": np, "base64": base64})


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("value", SPECIAL)
def test_special_scalars_come_back_bit_for_bit(dtype: str, value: float) -> None:
    with np.errstate(all="ignore"):
        x = np.asarray(value).astype(dtype)
    assert bits(evaluate(scalar(x))) == bits(x)


@given(st.floats(width=64))
def test_doubles_come_back_bit_for_bit(value: float) -> None:
    assert bits(evaluate(scalar(np.float64(value)))) == bits(np.float64(value))


@given(st.integers(0, 2**32 - 1))
def test_every_single_comes_back_bit_for_bit(word: int) -> None:
    x = np.uint32(word).view(np.float32)
    assert bits(evaluate(scalar(x))) == bits(x)
    assert bits(evaluate(array(np.array([x])))) == bits(np.array([x]))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "uint64"])
def test_integers_come_back(dtype: str) -> None:
    ends = [False, True] if dtype == "bool" else [np.iinfo(dtype).min, np.iinfo(dtype).max, 1]
    x = np.array(ends, dtype=dtype)
    assert bits(evaluate(array(x))) == bits(x)
    for entry in x:
        assert bits(evaluate(scalar(entry))) == bits(entry)


def test_a_single_is_written_short() -> None:
    assert number(np.float32(0.1), np.dtype("float32")) == "0.1"
    assert scalar(np.float64(-0.0)) == "np.float64(-0.0)"
    assert array(np.array([0.1, 0.2], dtype="float32")) == "np.array([0.1, 0.2], dtype=np.float32)"


def _arrays() -> list[np.ndarray]:
    random = np.random.default_rng(0)
    payload = np.array([0x7FF8000000000123, 0x3FF0000000000000], dtype=np.uint64).view(np.float64)
    return [
        np.array([1.0, -0.0, np.nan, -np.inf]),
        np.array([0.0, -0.0] * 4),
        payload,
        np.zeros((0, 3), dtype="float32"),
        np.zeros((2, 0), dtype="int64"),
        np.zeros((3, 4)),
        np.full((9,), -0.0),
        np.full((2, 5), np.nan, dtype="float32"),
        np.ones((8,), dtype=bool),
        np.arange(100),
        np.arange(7, dtype="float32"),
        random.normal(size=(4, 3, 2)),
        random.normal(size=(65,)),
        random.normal(size=(30, 7)).astype("float32"),
        random.normal(size=(30, 7)).T,
        random.integers(0, 2, (12, 12)).astype(bool),
        random.integers(-9, 9, (3, 3)).astype(">i4"),
        random.normal(size=(2, 2, 2, 2)).astype(">f8"),
        np.broadcast_to(np.float64(0.1), (3, 3)),
    ]


@pytest.mark.parametrize("x", _arrays(), ids=lambda x: f"{x.dtype}{x.shape}")
def test_arrays_come_back_bit_for_bit(x: np.ndarray) -> None:
    text = array(x)
    assert bits(evaluate(text)) == bits(x)
    assert bits(evaluate(wrap(f"c = {text}").removeprefix("c = "))) == bits(x)


def test_what_is_regular_is_written_short() -> None:
    assert array(np.zeros((300, 300))) == "np.zeros((300, 300))"
    assert array(np.full((300,), 0.5, "float32")) == "np.full((300,), 0.5, dtype=np.float32)"
    assert array(np.arange(1000)) == "np.arange(1000, dtype=np.int64)"
    assert "frombuffer" in array(np.random.default_rng(0).normal(size=65))


@given(
    st.recursive(
        st.one_of(st.floats(), st.text(max_size=30), st.integers()),
        lambda inner: st.one_of(
            st.lists(inner, max_size=12),
            st.lists(inner, max_size=12).map(tuple),
            st.dictionaries(st.text(max_size=20), inner, max_size=6),
        ),
        max_leaves=40,
    )
)
def test_wrapping_changes_no_meaning(value: object) -> None:
    text = f"x = f({value!r})"
    if "\n" not in text:
        assert ast.dump(ast.parse(wrap(text))) == ast.dump(ast.parse(text))


def test_wrapping_leaves_subscripts_and_groups_alone() -> None:
    long = "aaaaaaaaaaaaaaaaaaaaaaaaa"
    index = f"x = y[{', '.join([long] * 5)}]"
    assert wrap(index) == index
    group = f"x = ({' + '.join([long] * 5)})"
    assert ast.dump(ast.parse(wrap(group))) == ast.dump(ast.parse(group))
    assert max(map(len, wrap(f"def f({', '.join([long] * 5)}):").split("\n"))) <= WIDTH
