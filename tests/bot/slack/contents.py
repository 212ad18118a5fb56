"""Any content of cards, answers, forms and Home tabs, most of it odd or at the edge of a limit."""

from typing import TypeVar

from hypothesis import strategies as st

from bot.charts.values import Bars, Chart, HeatMap, Series
from bot.slack.card import Button, Card, Confirm, Progress, Reply, Table, Tone
from bot.slack.forms.form import Field, FieldKind, Form, FormPlace
from bot.slack.home.page import FormButton, HomeItem, HomePage, HomeSection
from bot.slack.markup import bold, code, person, plain

T = TypeVar("T")
PIECES = (
    "a", "x y ", "line\n", "\n", " ", "<&>", "`", "```", "*", "_~", "<@U0ALICE>", "<!channel>",
    "\U0001f600", "\U0001f469\u200d\U0001f4bb", "\u05e9\u05dc\u05d5\u05dd ", "\u202eabc", "e\u0301",
    "\0", "\ud83d", ":smile:", '"\\',
)  # fmt: skip
# Around the limits of Slack, and far beyond.
SIZES = (
    0, 1, 2, 20, 21, 24, 25, 30, 31, 50, 51, 75, 76, 100, 101, 150, 151, 255, 256, 300, 301, 1_000,
    2_000, 2_001, 3_000, 3_001, 10_000,
)  # fmt: skip


def _repeated(piece: str, size: int) -> str:
    return (piece * size)[:size]


texts = st.text(max_size=20) | st.builds(_repeated, st.sampled_from(PIECES), st.sampled_from(SIZES))
words = texts.filter(str.strip)
markups = st.builds(
    lambda how, text: how(text), st.sampled_from([plain, plain, bold, code, person]), texts
)


def many(some: st.SearchStrategy[T], most: int) -> st.SearchStrategy[tuple[T, ...]]:
    """None, a few, or as many as `most`, of which a few differ."""
    counts = st.sampled_from(sorted({0, 1, 2, 3, 11, 26, most // 2, most}))
    some_few = st.lists(some, min_size=1, max_size=3)
    return st.builds(lambda few, count: tuple((few * count)[:count]), some_few, counts)


buttons = st.builds(
    Button,
    action=st.sampled_from(["train.stop", "train.logs"]) | words,
    label=texts,
    value=texts,
    style=st.sampled_from([None, "primary", "danger"]),
    confirm=st.none() | st.builds(Confirm, texts, texts, texts, texts),
    url=st.just("") | texts.map(lambda text: f"https://grafana.example/{text}"),
)
tables = st.builds(Table, many(texts, 30), many(many(texts, 30), 130))
amounts = st.floats(-1e12, 1e12)
counts = st.floats(0, 1e12)


@st.composite
def bars(draw: st.DrawFn) -> Bars:
    """A bar chart with a value, or none, for each label of each series."""
    drawn = draw(many(texts, 25).filter(bool))
    labels = tuple(f"{label}{number}" for number, label in enumerate(drawn))
    values = st.lists(st.none() | counts, min_size=1, max_size=2).map(
        lambda few: tuple((few * len(labels))[: len(labels)])
    )
    names = draw(st.lists(texts, min_size=1, max_size=8))
    series = tuple(Series(name, draw(values)) for name in names)
    line = draw(st.none() | counts)
    return Bars(draw(texts), labels, series, draw(texts), draw(st.booleans()), line, draw(texts))


shares = st.none() | st.floats(0, 1)
heat_maps = st.builds(
    lambda title, rows, columns, share: HeatMap(
        title, rows, columns, ((share,) * len(columns),) * len(rows)
    ),
    texts,
    many(texts, 30).filter(bool),
    many(texts, 30).filter(bool),
    shares,
)
charts: st.SearchStrategy[Chart] = bars() | heat_maps
cards = st.builds(
    Card,
    title=texts,
    state=texts,
    tone=st.sampled_from(Tone),
    lines=many(markups, 300),
    facts=many(st.tuples(texts, markups), 400),
    progress=st.none() | st.builds(Progress, amounts, st.none() | amounts, texts),
    charts=st.lists(charts, max_size=2).map(tuple),
    table=st.none() | tables,
    code=texts,
    document=texts,
    buttons=many(buttons, 60),
    footer=many(markups, 60),
)
replies = st.builds(
    Reply, lines=many(markups, 300), card=st.none() | cards, buttons=many(buttons, 60)
)
form_buttons = st.builds(FormButton, texts, texts, texts, st.booleans())
pages = st.builds(
    HomePage,
    many(
        st.builds(
            HomeSection,
            title=texts,
            lines=many(markups, 20),
            items=many(st.builds(HomeItem, many(markups, 20), many(buttons, 20)), 150),
            buttons=many(buttons | form_buttons, 40),
            rest=markups,
        ),
        120,
    ),
)


@st.composite
def fields(draw: st.DrawFn, name: str) -> Field:
    """A field that holds anything, an option of its own among it."""
    options = ("yes", *(f"{at}{word}" for at, word in enumerate(draw(many(words, 150)))))
    initial = st.lists(texts | st.sampled_from(options), max_size=4).map("\n".join)
    return Field(
        name, draw(words), draw(st.sampled_from(FieldKind)), draw(texts), draw(texts), options,
        draw(initial | st.just("\n".join(options))), draw(st.booleans()), draw(st.booleans()),
    )  # fmt: skip


@st.composite
def forms(draw: st.DrawFn) -> Form:
    """A form of any fields; their names differ, as those of parameters do."""
    count = draw(st.sampled_from([1, 2, 5, 120]))
    few = [draw(fields(f"field_{number}")) for number in range(min(count, 5))]
    some = [Field(f"field_{number}", "Label", FieldKind.LINE) for number in range(len(few), count)]
    place = FormPlace("train", "submit", "C0TEAMA", "1795248000.000100")
    said = many(markups, 120)
    return Form(draw(words), draw(words), place, [*few, *some], draw(said), draw(said))
