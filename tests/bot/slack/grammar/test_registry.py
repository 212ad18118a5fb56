import re
from datetime import timedelta

import pytest

from bot.errors import UsageError
from bot.slack.card import Reply
from bot.slack.grammar.declarations import Command, DeclarationError
from bot.slack.grammar.parameters import Pattern
from bot.slack.grammar.registry import HelpAsked, Parsed, Registry
from bot.slack.markup import plain
from tests.bot.slack.grammar.commands import (
    Context,
    Right,
    Submission,
    declare_quota,
    declare_train,
)

ALICE = Context("alice")
SUBMIT = (
    "For example `/train submit lane --image ghcr.io/acme/lane:3.1 --gpus 2 -- python train.py`."
)
REGISTRY = Registry([declare_train(), declare_quota()])
PREFIXED = Registry([declare_train(), declare_quota()], prefix="qm-")


def understood(name: str, text: str, registry: Registry = REGISTRY) -> Parsed:
    parsed = registry.parse(name, text)
    assert isinstance(parsed, Parsed)
    return parsed


def refusal(name: str, text: str, registry: Registry = REGISTRY) -> tuple[str, str]:
    with pytest.raises(UsageError) as caught:
        registry.parse(name, text)
    return caught.value.message, caught.value.hint


def test_values_reach_the_handler_typed() -> None:
    parsed = understood(
        "/train",
        "submit lane \u2014image <http://ghcr.io/acme/lane:3.1|ghcr.io/acme/lane:3.1> --env A=1 "
        "--env \u201cB=two words\u201d --secret K=wandb/key --pvc imagenet:/data:ro --time 8h "
        "-- python train.py --epochs 3",
    )
    assert parsed.values == vars(
        Submission(
            name="lane",
            image="ghcr.io/acme/lane:3.1",
            gpus=1,
            env=(("A", "1"), ("B", "two words")),  # type: ignore[arg-type] # equal to NamedTuples
            secrets=(("K", "wandb", "key"),),  # type: ignore[arg-type] # equal to NamedTuples
            mounts=(("imagenet", "/data", True),),  # type: ignore[arg-type] # equal to NamedTuples
            time=timedelta(hours=8),
            team=None,
            command=("python", "train.py", "--epochs", "3"),
        )
    )
    assert parsed.verb.mutates
    assert parsed.verb.right is Right.RUN


@pytest.mark.parametrize(
    ("name", "text", "answer"),
    [
        ("train", "logs lane#2", "alice: lane#2 50"),
        ("train", "LOGS lane --tail=5", "alice: lane 5"),
        ("train", "list", "alice: False"),
        ("/train", "list --all", "alice: True"),
        ("quota", "request -2 --reason don't", "alice: -2 1 day, 0:00:00 don't"),
        ("quota", 'request +8 --for 3d --reason "a b"', "alice: +8 3 days, 0:00:00 a b"),
        ("qm", "train list", "alice: False"),
        ("qm", "/train list", "alice: False"),
    ],
)
def test_handlers_answer_what_was_said(name: str, text: str, answer: str) -> None:
    assert understood(name, text).answer(ALICE).lines == (plain(answer),)


class Size(Pattern):
    word = "SIZE"
    rule = re.compile(r"[+-]?[0-9]+TiB")
    form = "an amount such as `+5TiB`"
    example = "+5TiB"


@pytest.mark.parametrize("text", ["grow -5TiB --by -3TiB", "grow --by=-3TiB -5TiB"])
def test_negative_amounts_are_no_options(text: str) -> None:
    volume = Command("volume", "Volumes")

    @volume.verb("grow", "Change a size", right=Right.RUN, examples=("grow +5TiB",))
    @volume.argument("size", Size())
    @volume.option("--by", Size())
    def grow(ctx: Context, size: str, by: str) -> Reply:
        return Reply((plain(f"{ctx.person} {size} {by}"),))

    answer = understood("volume", text, Registry([volume])).answer(ALICE)
    assert answer == grow(ALICE, "-5TiB", "-3TiB")


def test_every_declared_example_parses() -> None:
    for registry in (REGISTRY, PREFIXED):
        for command, example in registry.examples():
            assert understood(registry.slash.of(command.name), example, registry).text == example


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("submti", "`/train submti` is not a command.", f"Did you mean `/train submit`? {SUBMIT}"),
        (
            "zzz",
            "`/train zzz` is not a command.",
            f"Its verbs are `submit`, `logs`, `list`. {SUBMIT}",
        ),
        (
            "submit lane",
            "`--image IMAGE` is missing.",
            f"IMAGE is a container image such as `registry/project/name:tag`. {SUBMIT}",
        ),
        (
            "submit lane --image a --gpus 65",
            (
                "`--gpus` takes a number of GPUs from 1 to 64, or a fraction of one such as `0.5`,"
                " not `65`."
            ),
            f"Write it like `--gpus 2`. {SUBMIT}",
        ),
        (
            "submit Lane --image a",
            "`NAME` takes a name of lower-case letters, digits and hyphens, not `Lane`.",
            f"Write it like `lane`. {SUBMIT}",
        ),
        (
            "submit lane --image a --team --gpus 3",
            "`--team` needs a value, but the option `--gpus` follows.",
            SUBMIT,
        ),
        (
            "submit lane --image",
            "`--image` needs a value: a container image such as `registry/project/name:tag`.",
            SUBMIT,
        ),
        (
            "submit lane --image a --gpu 3 -- x",
            "`submit` has no option `--gpu`.",
            f"Did you mean `--gpus`? {SUBMIT}",
        ),
        (
            "submit lane --image a -gpus 3 -- x",
            "`submit` has no option `-gpus`.",
            f"Did you mean `--gpus`? {SUBMIT}",
        ),
        (
            "submit lane --image a python x.py",
            "`submit` takes no argument `python x.py`.",
            (
                "Usage: `submit NAME --image IMAGE [--gpus COUNT] [--env NAME=VALUE] ... "
                "[--secret NAME=SECRET/KEY] ... [--pvc CLAIM:/PATH] ... [--time TIME] "
                "[--team TEAM] [-- COMMAND ...]`. "
                f"Arguments of the command go after ` -- `. {SUBMIT}"
            ),
        ),
        (
            "submit lane --image a --image b",
            "`--image` is given twice, as `a` and `b`; it takes one value.",
            SUBMIT,
        ),
        (
            "logs lane -- x",
            "`logs` takes no arguments after ` -- `.",
            "For example `/train logs a`.",
        ),
        ("list --all=no", "`--all` takes no value.", "For example `/train list`."),
        (
            "list --everything",
            "`list` has no option `--everything`.",
            "Its options are `--all`. For example `/train list`.",
        ),
    ],
)
def test_refusals_say_what_is_right(text: str, message: str, hint: str) -> None:
    assert refusal("train", text) == (message, hint)


@pytest.mark.parametrize(
    ("name", "text", "message", "hint"),
    [
        (
            "qm",
            "trian list",
            "There is no command `/qm trian`.",
            "Did you mean `/qm train`? `/qm help` lists the commands you can use here.",
        ),
        (
            "zzz",
            "",
            "There is no command `/qm-zzz`.",
            "`/qm help` lists the commands you can use here.",
        ),
        (
            "/qm-train",
            "lsit",
            "`/qm-train lsit` is not a command.",
            "Did you mean `/qm-train list`? For example `/qm-train list`.",
        ),
        (
            "qm-quota",
            "request",
            "`AMOUNT` and `--reason TEXT` are missing.",
            (
                "AMOUNT is a change such as `+8` or `-2`, or a new total such as `12`; "
                "TEXT is quoted text of at most 300 characters. "
                'For example `/qm-quota request +8 --for 3d --reason "CVPR deadline"`.'
            ),
        ),
    ],
)
def test_refusals_spell_commands_as_typed_here(
    name: str, text: str, message: str, hint: str
) -> None:
    assert refusal(name, text, PREFIXED) == (message, hint)


def test_mentions_get_mentions_in_refusals() -> None:
    with pytest.raises(UsageError) as caught:
        PREFIXED.parse_mention("train lsit")
    assert caught.value.hint == (
        "Did you mean `@Quartermaster train list`? For example `@Quartermaster train list`."
    )


def test_people_cannot_break_out_of_backticks() -> None:
    message, _ = refusal("train", "`x` <@U1> " + "y" * 100)
    assert message == "`/train \u02cbx\u02cb` is not a command."


@pytest.mark.parametrize(
    ("name", "text", "command", "verb"),
    [
        ("train", "", "train", None),
        ("train", "help", "train", None),
        ("train", "-h", "train", None),
        ("train", "--help", "train", None),
        ("train", "help submit", "train", "submit"),
        ("train", "submit --help", "train", "submit"),
        ("train", "submit lane -h", "train", "submit"),
        ("qm", "", None, None),
        ("qm", "help", None, None),
        ("qm", "help train", "train", None),
        ("qm", "train help logs", "train", "logs"),
    ],
)
def test_help_is_understood_everywhere(
    name: str, text: str, command: str | None, verb: str | None
) -> None:
    asked = REGISTRY.parse(name, text)
    assert isinstance(asked, HelpAsked)
    assert (asked.command and asked.command.name, asked.verb and asked.verb.name) == (command, verb)


def test_help_after_dashes_is_for_the_container() -> None:
    parsed = understood("train", "submit lane --image a -- prog --help")
    assert parsed.values["command"] == ("prog", "--help")


def test_buttons_are_found_by_action_id() -> None:
    for action_id in ("train.stop", "train.stop:2"):
        button = REGISTRY.button(action_id)
        assert button.answer(ALICE, "7").lines == (plain("alice stops 7"),)
    with pytest.raises(UsageError, match="is from an older version"):
        REGISTRY.button("train.gone")


def test_refuses_two_commands_of_one_name() -> None:
    with pytest.raises(DeclarationError, match=r"Two commands are called train\."):
        Registry([declare_train(), declare_train()])
    with pytest.raises(DeclarationError, match=r"Command empty has no verb\."):
        Registry([Command("empty", "Nothing")])


def test_some_options_need_no_value() -> None:
    volume = Command("volume", "Volumes")

    @volume.verb("grow", "Change a size", right=Right.RUN, examples=("grow --by",))
    @volume.option("--by", Size(), bare="all")
    @volume.option("--note")
    def grow(ctx: Context, by: str | None, note: str | None) -> Reply:
        return Reply((plain(f"{ctx.person}: {by} {note}"),))

    registry = Registry([volume])
    said = {
        "grow": None,
        "grow --by": "all",
        "grow --by --note x": "all",
        "grow --by +5TiB": "+5TiB",
        "grow --by=+5TiB --note x": "+5TiB",
    }
    assert {each: understood("volume", each, registry).values["by"] for each in said} == said
    assert understood("volume", "grow --by", registry).answer(ALICE) == grow(ALICE, "all", None)
    assert volume.verbs["grow"].usage == "grow [--by [SIZE]] [--note TEXT]"
    assert refusal("volume", "grow --by +5TiB --by", registry)[0] == (
        "`--by` is given twice, with a value and without; it takes one value."
    )
