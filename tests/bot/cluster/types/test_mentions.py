"""What clusters and programs say calls nobody, wherever it is shown."""

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

import bot.cluster
from bot.cluster.api.answers import decode
from bot.cluster.types.objects import Pod
from bot.datasets.saying import last_said
from bot.errors import ClusterError, MetricsError, StorageError
from bot.slack.markup import sentence

CALLS = "see <@U0BOB>, <#C0TEAMA> and <!here>"
QUIET = "see < @U0BOB>, < #C0TEAMA> and < !here>"
# Only in answers that become errors, which take it out themselves.
_NOT_SHOWN = {"Status"}


def speaking() -> Iterator[type[msgspec.Struct]]:
    """Every part of an object that has a message."""
    for module in pkgutil.walk_packages(bot.cluster.__path__, "bot.cluster."):
        found = vars(importlib.import_module(module.name))
        for each in found.values():
            is_struct = isinstance(each, type) and issubclass(each, msgspec.Struct)
            if is_struct and each.__module__ == module.name:
                fields: tuple[str, ...] = each.__struct_fields__
                if "message" in fields and each.__name__ not in _NOT_SHOWN:
                    yield each


@pytest.mark.parametrize("part", list(speaking()), ids=lambda each: each.__name__)
def test_messages_of_objects_call_nobody(part: type[Any]) -> None:
    found = msgspec.json.decode(msgspec.json.encode({"message": CALLS}), type=part)
    assert found.message == QUIET


def test_there_are_parts_with_messages() -> None:
    names = {each.__name__ for each in speaking()}
    assert {"Condition", "Terminated", "ContainerWaiting", "Event", "PodStatus"} <= names


@pytest.mark.parametrize("error", [ClusterError, MetricsError, StorageError])
def test_errors_of_servers_call_nobody(error: type[ClusterError]) -> None:
    raised = error(CALLS, "Ask in <#C0TEAMA>.")
    assert (raised.message, str(raised)) == (QUIET, QUIET)
    assert raised.hint == "Ask in <#C0TEAMA>."


def test_what_a_program_left_is_shown_quietly() -> None:
    body = {
        "status": {"containerStatuses": [{"state": {"terminated": {"message": "<@U0BOB>, look"}}}]}
    }
    pod = decode(msgspec.json.encode(body), Pod, "Reading")
    ended = pod.status.container_statuses[0].state.terminated
    assert ended is not None
    assert sentence(ended.message) == "&lt; @U0BOB&gt;, look"


def test_workers_and_their_files_call_nobody() -> None:
    line = {"event": "failed", "message": CALLS, "hint": CALLS, "keys": ["a/<@U0BOB>"]}
    said = last_said([msgspec.json.encode(line).decode()])
    assert said is not None
    assert (said.message, said.hint, said.keys) == (QUIET, QUIET, ("a/< @U0BOB>",))
