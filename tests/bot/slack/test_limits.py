"""Whatever it has to say, the bot sends nothing that exceeds Slack's limits."""

from dataclasses import replace

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bot.charts.values import Bars, Series
from bot.slack.blocks import card_blocks, reply_blocks
from bot.slack.card import Button, Card, Progress, Reply, Table
from bot.slack.chart_blocks import Plainness, Showing, chart_blocks, name_of
from bot.slack.forms.form import Field, FieldKind, Form, FormPlace, Option
from bot.slack.forms.view import notice_of, options_of, view_of
from bot.slack.grammar.declarations import Command, Verb
from bot.slack.grammar.filling import FormFacts, fields_of, initials_of
from bot.slack.home.page import FormButton, HomeItem, HomePage, HomeSection
from bot.slack.home.view import home_view
from bot.slack.markup import Markup, sentence
from bot.slack.text import reply_text, text_of
from handlers.declared import COMMANDS
from handlers.options import OPTIONS
from tests.bot.slack.contents import cards, forms, many, markups, pages, replies, texts
from tests.bot.slack.home.test_view import AT, UNTIL
from tests.bot.slack.judge import made_by_library
from tests.bot.slack.slack_limits import message_faults, option_faults, view_faults

KEY = "run.7" * 100
STOP = Button("train.stop", "", "")
VERBS = [(command, verb) for command in COMMANDS for verb in command.verbs.values()]
PLACE = FormPlace("train", "submit", "C0TEAMA", "1795248000.000100")
TWELVE = tuple(map(str, range(12)))
patient = settings(max_examples=60, suppress_health_check=list(HealthCheck))


@patient
@given(cards, st.sampled_from(Plainness), st.sampled_from([(), ("F1",)]))
@example(Card("", charts=(Bars("", ("a",), (Series("", (1.0,)),), ""),)), Plainness.ALL, ())
@example(Card("", charts=(Bars("t" * 51, ("a",), (Series("b", (1.0,)),), "h"),)), Plainness.ALL, ())
@example(Card("", table=Table(("a" * 130,), (("a" * 130,),) * 99)), Plainness.ALL, ())
def test_any_card_stays_within_slacks_limits(
    card: Card, how: Plainness, uploaded: tuple[str, ...]
) -> None:
    files = {name_of(chart): file for chart in card.charts for file in uploaded}
    charts = chart_blocks(card.charts, Showing(how, files))
    blocks = card_blocks(card, key=KEY, charts=charts)
    assert message_faults(text_of(card), blocks) == []


@patient
@given(replies)
@example(Reply(card=Card("", footer=(Markup("a"),) * 11)))
@example(Reply(buttons=(Button("train.stop", "Stop", "7"),) * 26))
@example(Reply(buttons=(Button("train.stop", "Stop", "7" * 2_001),)))
@example(
    Reply(
        card=Card("", lines=(Markup("a"),), facts=(("", Markup("")),) * 400, buttons=(STOP,),
                  table=Table((), (("",),) * 130), code="a", document="a", footer=(Markup("a"),),
                  progress=Progress(0.0, None, "")),
        buttons=(STOP,),
    )
)  # fmt: skip
def test_any_reply_stays_within_slacks_limits(reply: Reply) -> None:
    blocks = reply_blocks(reply, key=KEY)
    assert message_faults(reply_text(reply), blocks) == []
    assert [made_by_library(block) for block in blocks] == blocks


@patient
@given(pages)
@example(HomePage((HomeSection("Runs", items=(HomeItem((Markup("a"),)),) * 150),)))
def test_any_home_stays_within_slacks_limits(page: HomePage) -> None:
    assert view_faults(home_view(page, "D0ALICE", (AT, UNTIL), opens)) == []


def opens(form: FormButton) -> Button:
    return Button("open-form", form.label, form.words, "primary")


def form_of(*fields: Field, said: int = 1) -> Form:
    return Form("Any", "Send", PLACE, fields, (Markup("Any."),) * said)


@patient
@given(forms())
@example(form_of(Field("kind", "Kind", FieldKind.LINE), said=101))
@example(replace(form_of(), lines=(Markup("a" * 3_000),) * 90))
@example(form_of(Field("kind", "Kind", FieldKind.SEARCHES, initial="a\n\na")))
@example(form_of(Field("kind", "Kind", FieldKind.CHOICES, options=TWELVE, initial="11")))
@example(form_of(Field("kind", "Kind", FieldKind.CHOICE, options=("a", "b" * 151))))
def test_any_form_stays_within_slacks_limits(form: Form) -> None:
    assert view_faults(view_of(form)) == []


@patient
@given(st.data(), st.sampled_from(VERBS), markups)
def test_any_words_fit_the_form_of_any_verb(
    data: st.DataObject, declared: tuple[Command, Verb], foreseen: Markup
) -> None:
    command, verb = declared
    names = [each.name for each in verb.parameters]
    given_words = st.lists(texts, min_size=1, max_size=3)
    typed = data.draw(st.dictionaries(st.sampled_from(names), given_words)) if names else {}
    applying = set(data.draw(st.sets(st.sampled_from(names)))) if names else set()
    initials = initials_of(verb, typed, applying)
    facts = FormFacts(initials, applying, searched=OPTIONS, defaults={"team": data.draw(texts)})
    place = FormPlace(command.name, verb.name, "C0TEAMA", "1795248000.000100")
    title = f"/{command.name} {verb.name}"
    lines = (sentence(f"{verb.summary}."),)
    form = Form(title, verb.name.capitalize(), place, fields_of(verb, facts), lines, (foreseen,))
    assert view_faults(view_of(form)) == []


@patient
@given(many(markups, 150))
@example((Markup(""),))
def test_any_notice_stays_within_slacks_limits(lines: tuple[Markup, ...]) -> None:
    assert view_faults(notice_of("Quartermaster", lines)) == []


@patient
@given(many(st.builds(Option, texts, texts), 150))
@example((Option(""),))
@example((Option("a" * 151),))
def test_any_options_stay_within_slacks_limits(options: tuple[Option, ...]) -> None:
    assert option_faults(options_of(options)) == []
