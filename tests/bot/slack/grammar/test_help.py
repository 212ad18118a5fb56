from collections.abc import Callable
from enum import StrEnum

from bot.slack.grammar.help import help_reply
from bot.slack.grammar.registry import HelpAsked, Parsed, Registry
from bot.slack.text import as_text
from tests.bot.slack.grammar.commands import Right, declare_quota, declare_train

REGISTRY = Registry([declare_train(), declare_quota()], prefix="qm-")


def everything(_right: StrEnum) -> bool:
    return True


def looking(right: StrEnum) -> bool:
    return right is Right.LOOK


def nothing(_right: StrEnum) -> bool:
    return False


def said(asked: Parsed | HelpAsked, allowed: Callable[[StrEnum], bool] = everything) -> str:
    assert isinstance(asked, HelpAsked)
    return as_text(help_reply(REGISTRY, asked, allowed, {"team": "team-a", "gpus": "2"}))


def test_overview_names_every_command_with_its_verbs() -> None:
    assert said(REGISTRY.parse_umbrella("")) == (
        "Commands you can use here\n"
        "`/qm train` Training runs: submit, follow, stop\n"
        "      submit, logs, list\n"
        "`/qm quota` GPU quota: what your team may use, uses and waits for\n"
        "      request\n"
        "`/qm train help` shows the details of a command."
    )


def test_overview_leaves_out_what_is_not_allowed() -> None:
    assert said(REGISTRY.parse_mention("help"), looking) == (
        "Commands you can use here\n"
        "`@Quartermaster train` Training runs: submit, follow, stop\n"
        "      logs, list\n"
        "`@Quartermaster train help` shows the details of a command."
    )
    assert said(REGISTRY.parse_mention("help"), nothing) == (
        "Commands you can use here\nYou cannot use any command here. Ask a platform admin for a"
        " role."
    )


def test_help_on_a_command_shows_this_channels_defaults() -> None:
    assert said(REGISTRY.parse("train", "help")) == (
        "/qm-train: Training runs: submit, follow, stop\n"
        "`/qm-train submit NAME --image IMAGE ...` Start a training run\n"
        "`/qm-train logs RUN ...` Show the last lines\n"
        "`/qm-train list ...` Show this team's runs\n"
        "`/qm-train help submit` shows the details of one of them.\n"
        "Defaults here: team team-a, gpus 2."
    )
    assert said(REGISTRY.parse("quota", ""), looking) == (
        "/qm-quota: GPU quota: what your team may use, uses and waits for\n"
        "You cannot use this command in this channel."
        " Use your team's channel, or ask a platform admin for a role."
    )


def test_help_on_a_verb_explains_each_parameter() -> None:
    assert said(REGISTRY.parse("train", "submit -h")) == (
        "/qm-train submit: Start a training run\n"
        "`/qm-train submit NAME --image IMAGE [--gpus COUNT] [--env NAME=VALUE] ... "
        "[--secret NAME=SECRET/KEY] ... [--pvc CLAIM:/PATH] ... [--time TIME] "
        "[--team TEAM] [-- COMMAND ...]`\n"
        "`NAME` what to call it; takes a name of lower-case letters, digits and hyphens\n"
        "`--image IMAGE` what to run; takes a container image such as "
        "`registry/project/name:tag`\n"
        "`--gpus COUNT` takes a number of GPUs from 1 to 64, or a fraction of one such as `0.5`;"
        " default 2\n"
        "`--env NAME=VALUE` takes `NAME=VALUE`; NAME has letters, digits and `_` and does not"
        " begin with a digit; may be repeated\n"
        "`--secret NAME=SECRET/KEY` takes `NAME=secret/key`: a variable, and the Secret and key "
        "that hold its value; may be repeated\n"
        "`--pvc CLAIM:/PATH` takes `claim:/path`, `claim:/path:ro` for read-only access, or"
        " `storage-class:100Gi:/path` for a new PVC; "
        "may be repeated\n"
        "`--time TIME` takes a duration such as `15m`, `8h` or `1d12h`, from 1m to 365d\n"
        "`--team TEAM` takes a team's name: lower-case letters, digits and hyphens; "
        "default team-a\n"
        "`-- COMMAND ...` what the container runs\n"
        "For example:\n"
        "`/qm-train submit lane --image ghcr.io/acme/lane:3.1 --gpus 2 -- python train.py`"
    )


def test_help_says_when_a_verb_is_refused() -> None:
    assert said(REGISTRY.parse("train", "help list"), nothing) == (
        "/qm-train list: Show this team's runs\n"
        "`/qm-train list [--all]`\n"
        "`--all` those of other teams too\n"
        "Examples:\n"
        "`/qm-train list`\n"
        "`/qm-train list --all`\n"
        "You may not do this here."
    )
