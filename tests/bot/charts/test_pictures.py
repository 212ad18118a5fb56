import struct
from xml.etree import ElementTree as ET

import pytest

from bot.charts.picture import as_png
from bot.charts.svg import WIDTH, drawn
from bot.charts.values import Bars, Chart, HeatMap, Series

DAYS = tuple(f"Nov {day}" for day in range(8, 22))
STACKED = Bars(
    "GPU-hours by team",
    DAYS,
    (
        Series("team-a", tuple(10.0 * (day % 5) for day in range(14))),
        Series("team-b", tuple(None if day == 9 else 20.0 for day in range(14))),
    ),
    "GPU-hours a day",
    is_stacked=True,
    line=96.0,
    line_name="capacity",
)
BESIDE = Bars("Used", ("a", "b"), (Series("x", (4.0, None)), Series("y", (1.0, 2.0))), "h")
HEAT = HeatMap("Allocated", ("Sat", "Sun"), ("00", "12"), ((0.0, 1.0), (None, 0.5)))
SVG = "{http://www.w3.org/2000/svg}"


def rects(chart: Chart) -> list[dict[str, str]]:
    found = ET.fromstring(drawn(chart)).findall(f"{SVG}rect")  # noqa: S314  # our own
    return [dict(each.attrib) for each in found][1:]


def size_of(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", png[16:24])
    return width, height


@pytest.mark.parametrize("chart", [STACKED, BESIDE, HEAT])
def test_pictures_are_small_and_wide_enough(chart: Chart) -> None:
    png = as_png(chart)
    assert size_of(png)[0] == round(WIDTH * 1.6)
    assert 3_000 < len(png) < 80_000


def test_stacked_bars_stand_on_each_other() -> None:
    first, second = [each for each in rects(STACKED) if each["x"] == rects(STACKED)[1]["x"]][:2]
    top_of_first = float(first["y"])
    assert abs(top_of_first - float(second["y"]) - float(second["height"])) < 0.2


def test_what_is_unknown_is_hatched_not_zero() -> None:
    hatched = [each for each in rects(BESIDE) if each["fill"] == "url(#unknown)"]
    assert [each["height"] for each in hatched] == ["290.0", "15.0"]  # a bar, and the legend
    cells = [each["fill"] for each in rects(HEAT)]
    assert cells.count("url(#unknown)") == 2  # a cell, and the scale


def test_text_is_drawn_without_fonts_of_the_system() -> None:
    named, bare = as_png(BESIDE), as_png(Bars("", ("", ""), BESIDE.series, ""))
    assert len(named) > len(bare) + 2_000


def test_names_cannot_break_out_of_the_picture() -> None:
    chart = Bars("<b>&", ("</text>", "x"), (Series("\"'<", (1.0, 0.0)),), "h")
    texts = [each.text for each in ET.fromstring(drawn(chart)).findall(f"{SVG}text")]  # noqa: S314  # our own
    assert texts[0] == "<b>&"
    assert "</text>" in texts
    assert "\"'<" in texts


def test_chart_of_nothing_is_drawn_all_the_same() -> None:
    for chart in (Bars("Nothing", (), (), "h"), HeatMap("Nothing", (), (), ())):
        assert as_png(chart).startswith(b"\x89PNG")
