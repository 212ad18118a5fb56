"""Each thing that must never happen is seen when it does."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from sqlmodel import Session, select

from bot.cluster.labels import INSTALLATION, RUN
from bot.reconcile.due import Due
from bot.training.tables import Run
from playground.slack.people import BOT_USER, Message
from playground.slack.posting import post
from tests.fuzz.acts import CANARY
from tests.handlers.command_client import ALICE, CAROL, TEAM_A
from tests.machine.outside import STRANGE
from tests.machine.test_bot_machine import IMAGE, BotMachine
from tests.playground.cluster.served import Runner
from tests.playground.slack.served import Stage

SUBMIT = f"/train submit lane {IMAGE} -- python train.py --epochs 3"
READ = f"/train submit reader {IMAGE} --data chest-xray@v3:/data -- python train.py --epochs 3"
REQUEST = "/quota request +2 --for 1h --reason deadline"


@contextmanager
def at_work(template: Path, runner: Runner, stage: Stage) -> Iterator[BotMachine]:
    """A run that trains and an override that is active; nothing is wrong."""
    BotMachine.template, BotMachine.runner, BotMachine.stage = template, runner, stage
    machine = BotMachine()
    machine.open()
    machine.types(ALICE, SUBMIT)
    machine.types(ALICE, REQUEST)
    machine._rest(2)
    actions = [action for _, action, _ in machine._buttons()]
    machine.clicks(CAROL, actions.index("approval.approve"))
    machine._rest(3)
    assert wrong(machine) == ""
    assert machine.outside.quota() == 6
    yield machine
    machine.ends.close()


@pytest.fixture(scope="module")
def lasting(template: Path, runner: Runner, stage: Stage) -> Iterator[BotMachine]:
    with at_work(template, runner, stage) as machine:
        yield machine


@pytest.fixture
def machine(template: Path, runner: Runner, stage: Stage) -> Iterator[BotMachine]:
    with at_work(template, runner, stage) as made:
        yield made


def wrong(machine: BotMachine) -> str:
    """What the machine has to say now."""
    try:
        machine.nothing_is_wrong()
        machine._look_at_rest()
        machine._look_for_secrets()
    except AssertionError as error:
        return str(error)
    return ""


# What can be undone, all in one world.


@contextmanager
def said(machine: BotMachine, *texts: str) -> Iterator[None]:
    """Messages with one mark, which are gone again afterwards."""
    told = {"event_type": "quartermaster", "event_payload": {"message": "1"}}
    workspace = machine.slack.workspace
    made = [Message(TEAM_A, "", BOT_USER, text, metadata=told) for text in texts]
    for message in made:
        machine.slack.call(partial(post, workspace, message))
    yield
    for message in made:
        message.deleted = True


@contextmanager
def quota_is(machine: BotMachine, value: str) -> Iterator[None]:
    """The quota of team-a, set by hand for a moment."""
    machine.cluster.cluster.set_quota("team-a", value)
    yield
    machine.cluster.cluster.set_quota("team-a", "6")


@contextmanager
def told_of_run(machine: BotMachine) -> Iterator[None]:
    """Somebody was told of a run of which nothing came."""
    machine.recorded.append("lane#2")
    yield
    machine.recorded.remove("lane#2")


@contextmanager
def told_of_request(machine: BotMachine) -> Iterator[None]:
    """Somebody was told that it is asked for, and nobody was asked."""
    machine.asked += 1
    yield
    machine.asked -= 1


@contextmanager
def told_of_stop(machine: BotMachine) -> Iterator[None]:
    """Somebody was told that it is being stopped, and it is not."""
    machine.stopped.add("lane")
    yield
    machine.stopped.remove("lane")


@pytest.mark.parametrize(
    ("happens", "seen"),
    [
        (lambda machine: said(machine, "A card.", "A card."), "a message stands twice"),
        (lambda machine: said(machine, f"loss {CANARY}"), "a secret is shown"),
        (lambda machine: quota_is(machine, "8"), "8 <="),
        (lambda machine: quota_is(machine, "4"), "the quota is 4, cards say 6"),
        (told_of_run, "lane#2"),
        (told_of_request, "2 <= 1"),
        (told_of_stop, "lane was to stop"),
    ],
)
def test_what_must_never_happen_is_seen(
    lasting: BotMachine, happens: Callable[[BotMachine], AbstractContextManager[None]], seen: str
) -> None:
    with happens(lasting):
        assert seen in wrong(lasting)
    assert wrong(lasting) == ""


# What cannot.


def second_job(machine: BotMachine) -> None:
    ((run, job),) = machine.outside.jobs().items()
    labels = {RUN: run, INSTALLATION: job["metadata"]["labels"][INSTALLATION]}
    container = {"name": "main", "image": "busybox:1"}
    spec = {"template": {"spec": {"containers": [container], "restartPolicy": "Never"}}}
    body = {"metadata": {"name": "lane-again", "labels": labels}, "spec": spec}
    machine.cluster.cluster.create("jobs", body, "team-a")


def strangers_object_gone(machine: BotMachine) -> None:
    machine.cluster.cluster.delete("configmaps", STRANGE, "team-a")


def run_ended_unseen(machine: BotMachine) -> None:
    machine.cluster.pass_time(400)


def job_deleted_unseen(machine: BotMachine) -> None:
    (job,) = machine.outside.jobs().values()
    machine.cluster.cluster.delete("jobs", job["metadata"]["name"], "team-a")


def secret_in_the_log(machine: BotMachine) -> None:
    machine.logs.append({"event": "a command", "words": f"--env WANDB={CANARY}"})


def secret_in_the_database(machine: BotMachine) -> None:
    def work(session: Session) -> None:
        for run in session.scalars(select(Run)):
            run.stop_why = CANARY

    machine.bot.app.database.transaction(work)


def data_gone_while_read(machine: BotMachine) -> None:
    machine.types(ALICE, READ)
    machine._rest(2)
    assert machine.outside._readers() != []
    found = machine.cluster.cluster.list("persistentvolumeclaims", "datasets")
    (name,) = [each["metadata"]["name"] for each in found]
    machine.cluster.cluster.delete("persistentvolumeclaims", name, "datasets")


@pytest.mark.parametrize(
    ("happens", "seen"),
    [
        (secret_in_the_log, "the log"),
        (secret_in_the_database, "bot.db"),
        (data_gone_while_read, "data was evicted that runs use"),
        (second_job, "two Jobs of one run"),
        (strangers_object_gone, "an object of somebody else was touched"),
        (run_ended_unseen, "its Job is complete"),
        (job_deleted_unseen, "it has no Job any more"),
    ],
)
def test_what_cannot_be_undone_is_seen(
    machine: BotMachine, happens: Callable[[BotMachine], None], seen: str
) -> None:
    happens(machine)
    assert seen in wrong(machine)


def test_what_the_bot_leaves_undone_is_seen(machine: BotMachine) -> None:
    """One after the other: a deed without a role, one done twice, a step and a quota for ever."""
    members = machine.members.copy()
    machine.members.clear()  # as if the bot went on by a role that is lost
    with pytest.raises(AssertionError, match="U0ALICE may not"):
        machine.types(ALICE, SUBMIT.replace("lane", "depth"))
    machine.members.extend(members)
    machine.types(ALICE, "/train list")
    assert machine.last is not None
    machine.last = replace(machine.last, words=SUBMIT.replace("lane", "leak").partition(" ")[2])
    with pytest.raises(AssertionError, match="delivered twice, done twice"):
        machine.slack_delivers_it_again(doubted=False)
    machine.bot.app.database.transaction(partial(leased, machine))
    with pytest.raises(AssertionError, match="the bot finds no rest"):
        machine._work_until_idle(40)
    machine.cluster.pass_time(3700)
    now = machine.cluster.clock.now()
    assert machine.outside._wrong_quota(now).startswith("an override is active since")


def leased(machine: BotMachine, session: Session) -> None:
    """A row that somebody took and never gives back."""
    now = machine.bot.app.clock.now()
    row = Due(kind="run", id="x", lane="cluster:default", due_at=now, token="gone")  # noqa: S106
    row.lease_until = now + timedelta(days=1)
    session.add(row)
