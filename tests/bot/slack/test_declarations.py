from collections.abc import Callable
from dataclasses import dataclass

import pytest

from bot.slack.card import Reply
from bot.slack.declarations import Command, DeclarationError, of_no_team
from bot.slack.markup import plain
from bot.slack.parameters import RunName
from bot.slack.registry import Registry
from tests.bot.slack.commands import Context, Right


@dataclass(frozen=True)
class Named:
    name: str


def answer(ctx: Context) -> Reply:
    return Reply((plain(ctx.person),))


def answer_name(ctx: Context, name: str) -> Reply:
    return Reply((plain(f"{ctx.person} {name}"),))


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
