"""Folders of a node, as docker mounts them, typed or pasted after `/train`."""

import pytest

from bot.errors import UsageError
from bot.slack.grammar.foreign import ForeignCommandError
from bot.slack.grammar.registry import Parsed, Registry
from handlers.declared import COMMANDS

REGISTRY = Registry(COMMANDS)
LONG = "netapp-tensorflow-multi-imagenet-master"
INSTEAD = (
    "mounts a folder of the node, which differs from node to node, so runs do not mount it. Use a"
    " PVC, `--pvc imagenet:/data`, or a dataset, `--data imagenet:/data`, with the name of yours"
    " for `imagenet`."
)


def refused(text: str) -> tuple[str, str]:
    """The message and the hint of the refusal."""
    with pytest.raises(UsageError) as caught:
        REGISTRY.parse("train", text)
    assert not isinstance(caught.value, ForeignCommandError)
    return caught.value.message, caught.value.hint


@pytest.mark.parametrize("option", ["-v ", "-v=", "--volume ", "--volume="])
def test_a_folder_is_answered_with_their_line(option: str) -> None:
    text = f"submit {LONG} --image a/b:1 {option}/mnt/imagenet:/data --gpus 8 -- python train.py"
    assert refused(text) == (
        f"`{option.strip(' =')} /mnt/imagenet:/data` {INSTEAD}",
        (
            f"For example `/train submit {LONG} --image a/b:1 --pvc imagenet:/data --gpus 8"
            " -- python train.py`."
        ),
    )


def test_every_folder_of_a_line_is_replaced() -> None:
    mounts = "-v /srv/imagenet:/data:ro -v /scratch:/tmp"
    text = f"submit lane --image a/b:1 {mounts} -- sh -c 'ls -v /x:/y'"
    assert refused(text) == (
        f"`-v /srv/imagenet:/data:ro` {INSTEAD}",
        (
            "For example `/train submit lane --image a/b:1 --pvc imagenet:/data:ro"
            " --pvc scratch:/tmp -- sh -c 'ls -v /x:/y'`."
        ),
    )


def test_what_the_program_takes_is_its_own() -> None:
    parsed = REGISTRY.parse("train", "submit lane --image a/b:1 -- train -v /srv/x:/data")
    assert isinstance(parsed, Parsed)
    assert parsed.values["command"] == ("train", "-v", "/srv/x:/data")


@pytest.mark.parametrize("before", ["", "$ ", "submit "])
def test_docker_is_answered_with_what_to_use(before: str) -> None:
    text = f"{before}docker run --gpus all --rm -v /mnt/imagenet:/data a/b:1 python train.py"
    assert refused(text) == (
        "docker is not available here.",
        (
            "`/train submit lane --image IMAGE --gpus 1 -- COMMAND` runs a command in an image."
            f" `-v /mnt/imagenet:/data` {INSTEAD}"
        ),
    )


def test_an_option_without_its_folder_is_unknown() -> None:
    message, _ = refused("submit lane --image a/b:1 -v")
    assert message == "`submit` has no option `-v`."
