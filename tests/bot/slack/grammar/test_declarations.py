from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from bot.slack.card import Reply
from bot.slack.grammar.declarations import (
    CLUSTER,
    TEAM,
    Command,
    DeclarationError,
    Part,
    of_no_team,
)
from bot.slack.grammar.parameters import RunName
from bot.slack.grammar.registry import Parsed, Registry
from bot.slack.markup import plain
from tests.bot.slack.grammar.commands import Context, Right


@dataclass(frozen=True)
class Named:
    name: str


def answer(ctx: Context) -> Reply:
    return Reply((plain(ctx.person),))


def answer_name(ctx: Context, name: str) -> Reply:
    return Reply((plain(f"{ctx.person} {name}"),))


def answer_team(ctx: Context, team: str | None) -> Reply:
    return Reply((plain(f"{ctx.person} {team}"),))


def answer_cluster(ctx: Context, cluster: str | None, command: tuple[str, ...] = ()) -> Reply:
    return Reply((plain(f"{ctx.person} {cluster} {' '.join(command)}"),))


def declare_twice(train: Command) -> None:
    train.verb("list", "Show", right=Right.LOOK, examples=("list",))(answer)
    train.verb("list", "Show", right=Right.LOOK, examples=("list",))(answer)


def declare_help(train: Command) -> None:
    train.verb("help", "Show", right=Right.LOOK, examples=("help",))(answer)


def declare_without_example(train: Command) -> None:
    train.verb("list", "Show", right=Right.LOOK, examples=())(answer)


def declare_foreign_example(train: Command) -> None:
    train.verb("list", "Show", right=Right.LOOK, examples=("/train list",))(answer)


def declare_unknown_name(train: Command) -> None:
    handler = train.argument("run", RunName())(answer_name)
    train.verb("show", "Show", right=Right.LOOK, examples=("show lane",))(handler)


def declare_missing_field(train: Command) -> None:
    train.verb("show", "Show", right=Right.LOOK, examples=("show",), into=Named)(answer_name)


def declare_name_twice(train: Command) -> None:
    handler = train.option("--name")(train.argument("name", RunName())(answer_name))
    train.verb("show", "Show", right=Right.LOOK, examples=("show lane",))(handler)


def declare_foreign_button(train: Command) -> None:
    train.button("quota.stop", right=Right.LOOK, team=of_no_team)(answer_name)


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (declare_twice, "Verb list of train is declared twice."),
        (declare_help, "train help: this word asks for help everywhere."),
        (declare_without_example, "train list needs examples that begin with list."),
        (declare_foreign_example, "train list needs examples that begin with list."),
        (declare_unknown_name, "train show declares ['run'], but its handler takes ['name']."),
        (declare_missing_field, "train show declares [], but its handler takes ['name']."),
        (declare_name_twice, "train show has two parameters of one name: name, name."),
        (declare_foreign_button, "Button quota.stop does not begin with train."),
    ],
)
def test_contradictions_are_found_when_declared(
    declare: Callable[[Command], None], message: str
) -> None:
    with pytest.raises(DeclarationError) as caught:
        declare(Command("train", "Training runs"))
    assert str(caught.value) == message


def test_arguments_without_a_verb_are_found() -> None:
    train = Command("train", "Training runs")
    train.verb("list", "Show", right=Right.LOOK, examples=("list",))(answer)
    train.argument("name", RunName())(answer_name)
    with pytest.raises(DeclarationError) as caught:
        Registry([train])
    assert str(caught.value) == "No verb is declared above answer_name."


def said(train: Command, text: str) -> list[str]:
    """What the handler of a command answers, and how its usage reads."""
    parsed = Registry([train]).parse("train", text)
    assert isinstance(parsed, Parsed)
    (line,) = parsed.answer(Context("Alice")).lines
    return [str(line), parsed.verb.usage]


def declare_list(part: Part, **more: Any) -> None:
    part.verb("list", "Show", right=Right.LOOK, examples=("list",), **more)(answer)


def test_a_command_lists_the_verbs_of_its_parts() -> None:
    later, first = Part("train"), Part("train")
    declare_list(later)
    handler = first.argument("name", RunName())(answer_name)
    first.verb("show", "Show", right=Right.LOOK, examples=("show lane",))(handler)
    train = Command("train", "Training runs", parts=(first, later))
    assert list(train.verbs) == ["show", "list"]
    assert said(train, "show lane") == ["Alice lane", "show NAME"]


def test_a_part_of_another_command_is_refused() -> None:
    with pytest.raises(DeclarationError) as caught:
        Command("train", "Training runs", parts=(Part("quota"),))
    assert str(caught.value) == "A part of train was declared for quota."


def test_two_parts_cannot_share_a_verb() -> None:
    parts = (Part("train"), Part("train"))
    for part in parts:
        declare_list(part)
    with pytest.raises(DeclarationError) as caught:
        Command("train", "Training runs", parts=parts)
    assert str(caught.value) == "Verb list of train is declared twice."


def test_arguments_left_in_a_part_are_found() -> None:
    part = Part("train")
    part.argument("name", RunName())(answer_name)
    with pytest.raises(DeclarationError) as caught:
        Registry([Command("train", "Training runs", parts=(part,))])
    assert str(caught.value) == "No verb is declared above answer_name."


def test_the_team_reaches_only_who_asks() -> None:
    train = Command("train", "Training runs")
    declare_list(train, team=TEAM)
    train.verb("whose", "Show", right=Right.LOOK, examples=("whose",), team=TEAM)(answer_team)
    assert said(train, "list --team team-b") == ["Alice", "list [--team TEAM]"]
    assert said(train, "whose --team team-b") == ["Alice team-b", "whose [--team TEAM]"]


def test_the_cluster_stands_before_the_team() -> None:
    train = Command("train", "Training runs")
    handler = train.rest("command")(answer_cluster)
    train.verb("run", "Run", right=Right.LOOK, examples=("run",), team=TEAM, cluster=CLUSTER)(
        handler
    )
    usage = "run [--cluster CLUSTER] [--team TEAM] [-- COMMAND ...]"
    assert said(train, "run --cluster lab -- echo") == ["Alice lab echo", usage]


def test_a_handler_must_know_its_cluster() -> None:
    train = Command("train", "Training runs")
    with pytest.raises(DeclarationError) as caught:
        declare_list(train, cluster=CLUSTER)
    assert str(caught.value) == "train list declares ['cluster'], but its handler takes []."
