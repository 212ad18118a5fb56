from bot.charts.values import Bars, HeatMap, Series, described, figure, folded, percent


def test_bars_are_told_with_what_is_unknown() -> None:
    chart = Bars(
        "GPU-hours by team",
        ("Nov 20", "Nov 21", "Nov 22"),
        (Series("team-a", (12.0, 0.0, None)), Series("team-b", (0.0, 0.0, 1204.4))),
        "GPU-hours a day",
        is_stacked=True,
        line=96.0,
        line_name="capacity",
    )
    assert described(chart) == (
        "GPU-hours by team, in GPU-hours a day. Nov 20: team-a 12; Nov 21: 0;"
        " Nov 22: team-a unknown, team-b 1,204. Capacity: 96."
    )


def test_heat_map_is_told_by_its_rows() -> None:
    chart = HeatMap(
        "Allocated by hour",
        ("Fri 20", "Sat 21", "Sun 22"),
        ("00", "01"),
        ((0.25, 1.0), (None, 0.5), (None, None)),
    )
    assert described(chart) == (
        "Allocated by hour. Fri 20: 25 % to 100 %, mean 62 %;"
        " Sat 21: 50 % to 50 %, mean 50 %, 1 unknown; Sun 22: unknown."
    )


def test_smallest_series_become_the_others() -> None:
    series = [Series("a", (1.0, 1.0)), Series("b", (9.0, None)), Series("c", (2.0, None))]
    assert folded(series, 2) == (Series("b", (9.0, None)), Series("others", (3.0, 1.0)))
    assert folded(series, 3) == (series[1], series[0], series[2])
    unknown = [Series(name, (None,)) for name in "abc"]
    assert folded(unknown, 2)[1] == Series("others", (None,))


def test_figures_have_the_digits_that_matter() -> None:
    assert [figure(value) for value in (0, 0.25, 12.0, 99.96, 1204.4)] == [
        "0", "0.2", "12", "100.0", "1,204",
    ]  # fmt: skip
    assert percent(0.634) == "63 %"
