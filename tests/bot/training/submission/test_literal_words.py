"""What people type arrives in the container as they typed it, past what kubelets fill in."""

import shlex
from typing import Any

import pytest

from bot.cluster.labels import ROLE
from bot.slack.grammar.container_parameters import EnvironmentVariable
from bot.training.kinds.rayjob import COMMAND, LAUNCHER
from playground.cluster.control.expansion import environment_of, words_of
from tests.bot.training.rig import Rig
from tests.bot.training.submission.test_names import KINDS, full

__all__ = ["full"]

TYPED = ("python", "t.py", "pa$$word", "$(HOME)", "$$(HOME)", "${X}", "a$", "$", "$$$$$(A", "`$Z`")
VALUE = "pa$$word $(HOME) $$(HOME) ${X} $"


@pytest.mark.parametrize("options", KINDS, ids=lambda options: "-".join(map(str, options.values())))
def test_every_dollar_arrives_as_typed(full: Rig, options: dict[str, Any]) -> None:
    variables = (EnvironmentVariable("HOME", "/root"), EnvironmentVariable("SPELL", VALUE))
    full.submit("spell", gpus=1, env=variables, **({**options, "command": TYPED}))
    full.pass_time(seconds=20)
    pods = full.world.list("pods", "team-a")
    if options.get("kind") == "rayjob":  # its launcher only hands the program to Ray's head
        pods = [pod for pod in pods if pod["metadata"]["labels"][ROLE] != LAUNCHER]
    containers = [pod["spec"]["containers"][0] for pod in pods]
    assert containers
    assert {environment_of(each)["SPELL"] for each in containers} == {VALUE}
    words = [words_of(each) for each in containers if each.get("command")]
    words += [shlex.split(environment_of(each).get(COMMAND, "")) for each in containers]
    arrived = [each for each in words if tuple(each[-len(TYPED) + 2 :]) == TYPED[2:]]
    assert arrived


def test_our_own_scripts_arrive_whole(full: Rig) -> None:
    full.submit("ssh", gpus=1, kind="sync", nodes=2, command=("python", "t.py"))
    full.pass_time(minutes=2)
    pod = full.world.list("pods", "team-a")[0]
    script = words_of(pod["spec"]["containers"][0])[2]
    assert "sshd=$(command -v sshd || command -v /usr/sbin/sshd)" in script
    assert "deadline=$(($(date +%s) + 60 * 15))" in script
    assert "$$" not in script


def test_variables_before_a_command_are_set(rig: Rig) -> None:
    rig.submit("small", command=("A=$(HOME)", "python", "t.py"))
    rig.pass_time(seconds=30)
    (pod,) = rig.world.list("pods", "team-a")
    assert words_of(pod["spec"]["containers"][0]) == ["env", "A=$(HOME)", "python", "t.py"]
