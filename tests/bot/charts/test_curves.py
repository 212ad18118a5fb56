"""Curves: what is drawn, what is sampled of them, and what they are in words."""

import math
from xml.etree import ElementTree as ET

from bot.charts.picture import as_png
from bot.charts.svg import drawn
from bot.charts.values import Curve, Curves, Sample, common_range, described, sampled, short_number

SVG = "{http://www.w3.org/2000/svg}"
FALLING = Curve("one", tuple((float(x), 1 / (1 + x)) for x in range(11)))
LATER = Curve("two", ((5.0, 3.0), (7.0, 2.0), (20.0, 1.0)))


def chart(*curves: Curve) -> Curves:
    return Curves("loss of wide", curves, "epoch", "loss")


def shapes(found: Curves, kind: str) -> list[dict[str, str]]:
    document = ET.fromstring(drawn(found))  # noqa: S314  # our own
    return [dict(each.attrib) for each in document.iter(f"{SVG}{kind}")]


def test_each_curve_is_a_line_of_its_colour() -> None:
    lines = shapes(chart(FALLING, LATER), "polyline")
    assert [len(each["points"].split()) for each in lines] == [11, 3]
    assert len({each["stroke"] for each in lines}) == 2
    first, *_, last = (tuple(map(float, at.split(","))) for at in lines[0]["points"].split())
    assert first[0] < last[0]
    assert first[1] < last[1]  # downwards: y of a picture grows to the bottom


def test_values_that_are_none_interrupt_a_line() -> None:
    broken = Curve("one", ((0.0, 1.0), (1.0, 2.0), (2.0, math.nan), (3.0, 4.0), (4.0, math.inf)))
    assert [each["points"].count(",") for each in shapes(chart(broken), "polyline")] == [2]
    assert len(shapes(chart(broken), "circle")) == 1


def test_odd_curves_are_pictures_as_well() -> None:
    odd = (
        Curve("nothing", ()),
        Curve("one", ((3.0, 5.0),)),
        Curve("flat", ((0.0, 0.0), (1.0, 0.0))),
        Curve("tiny", ((0.0, 1e-300), (1.0, -1e-300))),
        Curve("tiniest", ((0.0, 5e-324), (1.0, 1e-323))),
        Curve("huge", ((0.0, 1e300), (1.0, -1e300))),
        Curve("largest", ((0.0, 1.7e308), (1.0, -1.7e308))),
        Curve("far", ((-1.7e308, 0.0), (1.7e308, 1.0))),
        Curve('<name> & "more" ' + "x" * 90, ((0.0, math.nan),)),
    )
    for each in odd:
        assert as_png(chart(each)).startswith(b"\x89PNG")
    assert as_png(chart(*odd)).startswith(b"\x89PNG")


def test_curves_are_sampled_where_all_have_values() -> None:
    both = chart(FALLING, LATER)
    assert common_range(both) == (5.0, 10.0)
    assert sampled(both, 3) == Sample((5.0, 7.5, 10.0), ((1 / 6, 1 / 8, 1 / 11), (3.0, 2.0, 2.0)))
    assert sampled(chart(FALLING, Curve("late", ((11.0, 1.0), (12.0, 1.0)))), 3) is None
    assert sampled(chart(FALLING, Curve("nothing", ())), 3) is None


def test_words_name_the_ends_of_curves() -> None:
    assert described(chart(FALLING, Curve("two", ((0.0, math.nan),)))) == (
        "loss of wide, in loss by epoch. one: 1 to 0.09091, lowest 0.09091, highest 1;"
        " two: no finite value."
    )
    assert [short_number(each) for each in (0.41234, 12_345.6, 3.2e-07, 0.0, 1e308)] == [
        "0.4123", "12,346", "3.2e-07", "0", "1e+308",
    ]  # fmt: skip
