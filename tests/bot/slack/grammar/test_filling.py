"""What is filled into a form is the command that a person would have typed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.slack.forms.form import MORE, FieldsError
from bot.slack.grammar.filling import FormFacts, fields_of, initials_of, spelled
from bot.slack.grammar.registry import IncompleteError, Parsed, Registry
from handlers.declared import COMMANDS

REGISTRY = Registry(COMMANDS)
SUBMIT = REGISTRY.commands["train"].verbs["submit"]
REQUEST = REGISTRY.commands["quota"].verbs["request"]
RUN = {"name": "lane", "image": "lane:3.1"}


def parsed(command: str, text: str) -> Parsed:
    found = REGISTRY.parse(command, text)
    assert isinstance(found, Parsed)
    return found


def test_fields_become_words_in_their_order() -> None:
    filled = RUN | {
        "gpus": "2",
        "pvc": "data:/data\n\nout:/out",
        "command": "python train.py --lr '0 1'",
        MORE: "--env A=1\n--shm 8Gi",
    }
    assert spelled(SUBMIT, filled) == (
        "submit lane --image lane:3.1 --gpus 2 --pvc data:/data --pvc out:/out --env A=1\n--shm 8Gi"
        " -- python train.py --lr '0 1'"
    )


@given(
    st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]) | st.just(" "), max_size=50)
)
def test_any_text_comes_through_as_it_is(reason: str) -> None:
    assume_something = f"because {reason}".strip()
    text = spelled(REQUEST, {"amount": "+8", "length": "3d", "reason": assume_something})
    expected = parsed("quota", text).values["reason"]
    assert isinstance(expected, str)
    assert expected.startswith("because")


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        ({}, {"name": "This is required."}),
        (
            {"name": "Lane"},
            {
                "name": "This cannot be Lane. Write a name of lower-case letters, digits"
                " and hyphens, for example lane."
            },
        ),
        (
            {"name": "lane", MORE: "--env A=1 -- python x.py"},
            {MORE: "Only options go here, without -- and what follows it."},
        ),
    ],
)
def test_a_field_says_what_does_not_fit(fields: dict[str, str], errors: dict[str, str]) -> None:
    with pytest.raises(FieldsError) as caught:
        spelled(SUBMIT, fields)
    assert caught.value.errors == errors


def test_what_was_typed_stands_in_the_form() -> None:
    with pytest.raises(IncompleteError) as caught:
        REGISTRY.parse("train", "submit --gpus 2 --pvc a:/a --pvc b:/b --shm 8Gi -- sh -c 'a b'")
    initials = initials_of(SUBMIT, caught.value.typed, {"nodes"})
    fields = fields_of(SUBMIT, FormFacts(initials=initials, applying={"nodes"}))
    assert {each.name: each.initial for each in fields if each.initial} == {
        "gpus": "2",
        "pvc": "a:/a\nb:/b",
        "command": "sh -c 'a b'",
        MORE: "--shm 8Gi",
    }
