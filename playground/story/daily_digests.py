"""The digests of the scenario `daily` in data: what #gpu-daily is told of a week, whole.

Figures follow from when runs begin and end: two GPUs of lane all the time, at 90 %; a notebook
from eight to a quarter past twelve; four GPUs of sweep from Tuesday at nine to Wednesday at half
past two; six of wide on Wednesday from nine to ten and again from four, eight of base between.
Of the night from Wednesday, 18:00, to Thursday, 06:00, nobody knows anything, and on Saturday a
GPU falls off its bus.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from zoneinfo import ZoneInfo

from playground.story.person import Card

ZONE = ZoneInfo("Europe/Berlin")
_MARCH, _SUNDAY, _LAST, _WEEK_DAYS = 3, 6, 31, 7
_HEADER = "Team | Quota | Used | Borrowed | Busy | Efficiency | Cost (USD)"
# Sleeping leaves a minute of each scene of which quotas are known.
_QUOTAS = (
    f"Quotas are known for {1} % of that time, too little to compare quota and borrowed GPU-hours"
    " with those used."
)
_SAMPLED = "Samples of default cover {} % of the time; the figures exclude the rest."
_SILENT = "The Prometheus of default returned 503, not a Prometheus API response."
_DURATION = re.compile(r"\b(\d+[dhms])(?: \d+[hms])+")
# Who waits for a blink waits on a busy machine alone.
_MEDIAN = re.compile(r"\d+ runs? waited a minute or longer: median \w+")
# What is found out later is known by the hour.
_SINCE = re.compile(r"(XID .*), since .*")
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


@dataclass(frozen=True)
class Told:
    """A digest without its dates: its first lines, a row for each team, buttons, last words."""

    head: tuple[str, ...]
    rows: tuple[str, ...]
    foot: tuple[str, ...] = ()
    buttons: str = ""


def _shares(allocated: str, busy: str, free: int = 14) -> tuple[str, ...]:
    """The first lines: shares with how many points more they are than a day and a week before."""
    told = []
    for name, words in (
        ("*Allocated* {} % of 16 GPUs", allocated),
        ("*Busy* {} % of the allocated GPUs", busy),
    ):
        share, *more = words.replace("-", "\u2212").split()
        line = name.format(share)
        if more:
            day, mean = ("unchanged" if each == "0" else f"{each} points" for each in more)
            line += f" ({day} from the day before, {mean} from the 7-day mean)"
        told.append(line)
    return (*told, f"{free} GPUs free when this was written.")


# GPU-hours of each day from Monday on, and which share of the GPUs was held by the hour.
_HELD = (
    "team-a 36.3",
    "team-a 48, team-b 59.9",
    "team-a 54.5, team-b 58",
    "team-a 36.1",
    "team-a 48",
    "team-a 48",
    "team-a 46",
)
_HOURS = (
    "12 % to 19 %, mean 14 %, 8 unknown",
    "12 % to 38 %, mean 28 %",
    "12 % to 62 %, mean 39 %, 5 unknown",
    "12 % to 12 %, mean 12 %, 5 unknown",
    *3 * ("12 % to 12 %, mean 12 %",),
)
_SWEEP = "• sweep of team-b, bob: {0} of its {0} GPU-hours"
_NOTEBOOK = "• nb of team-a, alice: 4.3 of its 4.3 GPU-hours"
_QUEUE = "*Queue* some waited, 90th percentile 6h."
_PREEMPTED = "*Preempted* 1: 1 x team-a"
_BROKEN = ("*Hardware*", "• GPU 7 of gpu-2: XID 79 (the GPU has fallen off the bus)")
_NOTHING = "team-b | ? | 0 | ? | 0 | - | 0"
_DAYS = (
    Told(
        (*_shares("14", "79"), "*Idle* 4.3 GPU-hours in total", _NOTEBOOK),
        ("team-a | ? | 36.3 | ? | 28.8 | 79 % | 72.60", "team-b | ? | 0 | ? | 0 | - | 0"),
        (_SAMPLED.format(67), _QUOTAS),
    ),
    Told(
        (
            *_shares("28 +14 +14", "40 -39 -39", free=10),
            "*Idle* 59.9 GPU-hours in total",
            f"{_SWEEP.format(59.9)}, idle since Mar 23 08:01 UTC",
        ),
        (
            "team-b | ? | 59.9 | ? | 0 | 0 % | 119.87",
            "team-a | ? | 48 | ? | 43.2 | 90 % | 96.00",
        ),
        (_QUOTAS,),
        buttons="[Stop sweep]  [Snooze sweep 4 h]",
    ),
    Told(
        (
            *_shares("39 +11 +16", "82 +42 +32"),
            "*Idle* 10.1 GPU-hours in total",
            _SWEEP.format(10.1),
            _QUEUE,
            _PREEMPTED,
        ),
        (
            "team-b | ? | 58 | ? | 43.1 | 74 % | 116.00",
            "team-a | ? | 54.5 | ? | 48.8 | 90 % | 109.07",
        ),
        (_SAMPLED.format(75), _QUOTAS, _SILENT),
    ),
    Told(
        _shares("12 -26 -15", "90 +8 +26"),
        ("team-a | ? | 36.1 | ? | 32.4 | 90 % | 72.20", _NOTHING),
        (_SAMPLED.format(75), _QUOTAS),
    ),
    Told(
        _shares("12 0 -12", "90 0 +23"),
        ("team-a | ? | 48 | ? | 43.2 | 90 % | 96.00", _NOTHING),
        (_QUOTAS,),
    ),
    Told(
        (*_shares("12 0 -9", "90 0 +20"), *_BROKEN),
        ("team-a | ? | 48 | ? | 43.2 | 90 % | 96.00", _NOTHING),
        (_QUOTAS,),
    ),
    Told(
        _shares("12 0 -7", "90 0 +17"),
        ("team-a | ? | 46 | ? | 41.4 | 90 % | 92.00", _NOTHING),
        (_QUOTAS,),
    ),
)
_WEEK = Told(
    (
        *_shares("18", "75"),
        "*Idle* 74.4 GPU-hours in total",
        _SWEEP.format(70.1),
        _NOTEBOOK,
        _QUEUE,
        _PREEMPTED,
        *_BROKEN,
    ),
    (
        "team-a | ? | 317 | ? | 281 | 89 % | 633.87",
        "team-b | ? | 118 | ? | 43.1 | 37 % | 235.87",
    ),
    (_SAMPLED.format(88), _QUOTAS),
)


def change_after(day: date) -> date:
    """The first Sunday of 23 hours that is more than a week away."""
    day += timedelta(days=_WEEK_DAYS)
    while True:
        day += timedelta(days=1)
        if (day.month, day.weekday()) == (_MARCH, _SUNDAY) and day.day > _LAST - _WEEK_DAYS:
            return day


def digest_of(day: date) -> str:
    """The title of the digest that is posted on a day."""
    return f"GPUs, {_named(day - timedelta(days=1))}"


def week_of(day: date) -> str:
    """The title of the digest of the week before."""
    return f"GPUs, {_named(day - timedelta(days=7))} to {_named(day - timedelta(days=1))}"


def is_as_told(card: Card, day: date, *, is_week: bool = False) -> None:
    """Fails unless the digest of that day is this one as a whole, figures to a minute's worth."""
    expected = list(_lines(day, is_week=is_week))
    shown = [_bare(line) for line in card.text.splitlines()]
    for wanted, found in zip(expected, shown, strict=False):
        if not _alike(_bare(wanted), found):
            card.story.fail(f"the digest should say:\n{wanted}\nand says:\n{found}")
    if len(shown) != len(expected):
        card.story.fail(f"the digest should have {len(expected)} lines:\n{card.text}")


def _lines(day: date, *, is_week: bool) -> Iterator[str]:
    number = (day.weekday() - 1) % 7
    told = _WEEK if is_week else _DAYS[number]
    monday = day - timedelta(days=number + 1)
    yield week_of(day) if is_week else digest_of(day)
    yield from (line.replace("Mar 23", _short(monday + timedelta(days=1))) for line in told.head)
    yield "[bar chart: GPU-hours by team]"
    yield f"[image: {_held(monday, day)}]"
    yield f"[image: {_by_hour(monday, day)}]"
    yield from (_HEADER, *told.rows)
    if told.buttons:
        yield told.buttons
    zone = f"Figures are in GPU-hours; {'days are' if is_week else 'the day is'} in {ZONE.key}."
    yield "  ".join((*told.foot, zone))


def _held(monday: date, day: date) -> str:
    """Two weeks of GPU-hours; of days before the story nobody knows anything."""
    unknown = "team-a unknown" if day == monday + timedelta(days=1) else _NEITHER
    told = []
    for back in range(14, 0, -1):
        of = day - timedelta(days=back)
        told.append(f"{_short(of)}: {unknown if of < monday else _HELD[(of - monday).days]}")
    return f"GPU-hours by team and day, in GPU-hours a day. {'; '.join(told)}. All GPUs: 384."


_NEITHER = "team-a unknown, team-b unknown"


def _by_hour(monday: date, day: date) -> str:
    told = []
    for back in range(7, 0, -1):
        of = day - timedelta(days=back)
        held = "unknown" if of < monday else _HOURS[(of - monday).days]
        told.append(f"{of:%a} {of.day}: {held}")
    return f"Allocated GPUs by hour. {'; '.join(told)}."


def _named(day: date) -> str:
    return f"{day:%A} {day.day} {day:%B %Y}"


def _short(day: date) -> str:
    return f"{day:%b} {day.day}"


def _bare(line: str) -> str:
    """Without what a busy machine changes: seconds of waits, and the last digit of minutes."""
    line = _DURATION.sub(r"\1", line.replace("less than 1 %", "1 %"))
    line = _MEDIAN.sub("some waited", line)
    line = _SINCE.sub(r"\1", line)
    return re.sub(r"(\d\d:\d)\d UTC", r"\1x UTC", line)


def _alike(wanted: str, found: str) -> bool:
    """Whether two lines are the same but for a minute of GPUs that began or ended."""
    if _NUMBER.sub("#", wanted) != _NUMBER.sub("#", found):
        return False
    pairs = zip(_NUMBER.finditer(wanted), _NUMBER.finditer(found), strict=True)
    return all(
        abs(_value(one[0]) - _value(other[0])) <= _tolerance(one[0], wanted[one.end() :])
        for one, other in pairs
    )


def _value(text: str) -> float:
    return float(text.replace(",", ""))


def _tolerance(number: str, after: str) -> float:
    """Shares, money and whole figures are rounded more coarsely than GPU-hours; dates are not."""
    if after.startswith((" %", " points")):
        return 1
    if number[-3:-2] == ".":
        return 2
    return 1 if number.isdigit() and len(number) == len("317") else 0.4
