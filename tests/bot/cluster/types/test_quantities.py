"""Quantities: read exactly, written shortly."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.cluster.types.quantities import SUFFIXES, Quantity, format_quantity, parse_quantity


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4", "4"),
        ("500m", "0.5"),
        ("64Gi", "68719476736"),
        ("1e3", "1000"),
        ("1.5E2", "150"),
        ("1E", "1000000000000000000"),
        ("2Ei", "2305843009213693952"),
        (".5", "0.5"),
        ("5.", "5"),
        ("-3k", "-3000"),
        ("+7n", "0.000000007"),
        ("100u", "0.0001"),
    ],
)
def test_reads_every_way_to_write_one(text: str, value: str) -> None:
    assert parse_quantity(text) == Decimal(value)


@pytest.mark.parametrize("text", ["", "Gi", "4 Gi", "1e3Gi", "4GB", "0x4", "٤", "nan", "4K"])
def test_refuses_what_kubernetes_refuses(text: str) -> None:
    with pytest.raises(ValueError, match="is not a Kubernetes quantity; write it like 4, 500m or"):
        parse_quantity(text)


@pytest.mark.parametrize(
    ("value", "binary", "text"),
    [
        ("12", False, "12"),
        ("0", True, "0"),
        ("0.5", False, "500m"),
        ("0.0000005", False, "500n"),
        ("68719476736", True, "64Gi"),
        ("68719476737", True, "68719476737"),
        ("1E+3", False, "1000"),
        ("-2048", True, "-2Ki"),
    ],
)
def test_writes_the_shortest_exact_form(value: str, *, binary: bool, text: str) -> None:
    assert format_quantity(Decimal(value), binary=binary) == text


def test_refuses_to_write_what_is_too_fine() -> None:
    with pytest.raises(ValueError, match="too precise for a Kubernetes quantity"):
        format_quantity(Decimal("1e-10"))


@given(
    number=st.integers(-(10**9), 10**9),
    suffix=st.sampled_from(sorted(SUFFIXES)),
    binary=st.booleans(),
)
def test_written_and_read_again_is_the_same(number: int, suffix: str, *, binary: bool) -> None:
    value = parse_quantity(f"{number}{suffix}")
    assert parse_quantity(format_quantity(value, binary=binary)) == value


def test_remembers_how_the_object_wrote_it() -> None:
    text, number = Quantity.of("4"), Quantity.of(4)
    assert text == number == Decimal(4)
    assert (text.raw, number.raw) == ("4", 4)
