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
from tests.handlers.office import ALICE, CAROL, TEAM_A
from tests.machine.outside import STRANGE
from tests.machine.test_desk_machine import IMAGE, Desk
from tests.playground.cluster.served import Runner
from tests.playground.slack.served import Stage

SUBMIT = f"/train submit lane {IMAGE} -- python train.py --epochs 3"
READ = f"/train submit reader {IMAGE} --data chest-xray@v3:/data -- python train.py --epochs 3"
REQUEST = "/quota request +2 --for 1h --reason deadline"


@contextmanager
def at_work(template: Path, runner: Runner, stage: Stage) -> Iterator[Desk]:
    """A run that trains and an override that is active; nothing is wrong."""
    Desk.template, Desk.runner, Desk.stage = template, runner, stage
    desk = Desk()
    desk.open()
    desk.types(ALICE, SUBMIT)
    desk.types(ALICE, REQUEST)
    desk._rest(2)
    actions = [action for _, action, _ in desk._buttons()]
    desk.clicks(CAROL, actions.index("approval.approve"))
    desk._rest(3)
    assert wrong(desk) == ""
    assert desk.outside.quota() == 6
    yield desk
    desk.ends.close()


@pytest.fixture(scope="module")
def lasting(template: Path, runner: Runner, stage: Stage) -> Iterator[Desk]:
    with at_work(template, runner, stage) as desk:
        yield desk


@pytest.fixture
def desk(template: Path, runner: Runner, stage: Stage) -> Iterator[Desk]:
    with at_work(template, runner, stage) as made:
        yield made


def wrong(desk: Desk) -> str:
    """What the machine has to say now."""
    try:
        desk.nothing_is_wrong()
        desk._look_at_rest()
        desk._look_for_secrets()
    except AssertionError as error:
        return str(error)
    return ""


# What can be undone, all in one world.


@contextmanager
def said(desk: Desk, *texts: str) -> Iterator[None]:
    """Messages with one mark, which are gone again afterwards."""
    told = {"event_type": "quartermaster", "event_payload": {"message": "1"}}
    workspace = desk.slack.workspace
    made = [Message(TEAM_A, "", BOT_USER, text, metadata=told) for text in texts]
    for message in made:
        desk.slack.call(partial(post, workspace, message))
    yield
    for message in made:
        message.deleted = True


@contextmanager
def quota_is(desk: Desk, value: str) -> Iterator[None]:
    """The quota of team-a, set by hand for a moment."""
    desk.cluster.cluster.set_quota("team-a", value)
    yield
    desk.cluster.cluster.set_quota("team-a", "6")


@contextmanager
def told_of_run(desk: Desk) -> Iterator[None]:
    """Somebody was told of a run of which nothing came."""
    desk.recorded.append("lane#2")
    yield
    desk.recorded.remove("lane#2")


@contextmanager
def told_of_request(desk: Desk) -> Iterator[None]:
    """Somebody was told that it is asked for, and nobody was asked."""
    desk.asked += 1
    yield
    desk.asked -= 1


@contextmanager
def told_of_stop(desk: Desk) -> Iterator[None]:
    """Somebody was told that it is being stopped, and it is not."""
    desk.stopped.add("lane")
    yield
    desk.stopped.remove("lane")


@pytest.mark.parametrize(
    ("happens", "seen"),
    [
        (lambda desk: said(desk, "A card.", "A card."), "a message stands twice"),
        (lambda desk: said(desk, f"loss {CANARY}"), "a secret is shown"),
        (lambda desk: quota_is(desk, "8"), "8 <="),
        (lambda desk: quota_is(desk, "4"), "the quota is 4, cards say 6"),
        (told_of_run, "lane#2"),
        (told_of_request, "2 <= 1"),
        (told_of_stop, "lane was to stop"),
    ],
)
def test_what_must_never_happen_is_seen(
    lasting: Desk, happens: Callable[[Desk], AbstractContextManager[None]], seen: str
) -> None:
    with happens(lasting):
        assert seen in wrong(lasting)
    assert wrong(lasting) == ""


# What cannot.


def second_job(desk: Desk) -> None:
    ((run, job),) = desk.outside.jobs().items()
    labels = {RUN: run, INSTALLATION: job["metadata"]["labels"][INSTALLATION]}
    container = {"name": "main", "image": "busybox:1"}
    spec = {"template": {"spec": {"containers": [container], "restartPolicy": "Never"}}}
    body = {"metadata": {"name": "lane-again", "labels": labels}, "spec": spec}
    desk.cluster.cluster.create("jobs", body, "team-a")


def strangers_object_gone(desk: Desk) -> None:
    desk.cluster.cluster.delete("configmaps", STRANGE, "team-a")


def run_ended_unseen(desk: Desk) -> None:
    desk.cluster.pass_time(400)


def job_deleted_unseen(desk: Desk) -> None:
    (job,) = desk.outside.jobs().values()
    desk.cluster.cluster.delete("jobs", job["metadata"]["name"], "team-a")


def secret_in_the_log(desk: Desk) -> None:
    desk.logs.append({"event": "a command", "words": f"--env WANDB={CANARY}"})


def secret_in_the_database(desk: Desk) -> None:
    def work(session: Session) -> None:
        for run in session.scalars(select(Run)):
            run.stop_why = CANARY

    desk.bot.app.database.transaction(work)


def data_gone_while_read(desk: Desk) -> None:
    desk.types(ALICE, READ)
    desk._rest(2)
    assert desk.outside._readers() != []
    found = desk.cluster.cluster.list("persistentvolumeclaims", "datasets")
    (name,) = [each["metadata"]["name"] for each in found]
    desk.cluster.cluster.delete("persistentvolumeclaims", name, "datasets")


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
    desk: Desk, happens: Callable[[Desk], None], seen: str
) -> None:
    happens(desk)
    assert seen in wrong(desk)


def test_what_the_bot_leaves_undone_is_seen(desk: Desk) -> None:
    """One after the other: a deed without a role, one done twice, a step and a quota for ever."""
    members = desk.members.copy()
    desk.members.clear()  # as if the bot went on by a role that is lost
    with pytest.raises(AssertionError, match="U0ALICE may not"):
        desk.types(ALICE, SUBMIT.replace("lane", "depth"))
    desk.members.extend(members)
    desk.types(ALICE, "/train list")
    assert desk.last is not None
    desk.last = replace(desk.last, words=SUBMIT.replace("lane", "leak").partition(" ")[2])
    with pytest.raises(AssertionError, match="delivered twice, done twice"):
        desk.slack_delivers_it_again(doubted=False)
    desk.bot.app.database.transaction(partial(leased, desk))
    with pytest.raises(AssertionError, match="the bot finds no rest"):
        desk._work_until_idle(40)
    desk.cluster.pass_time(3700)
    now = desk.cluster.clock.now()
    assert desk.outside._wrong_quota(now).startswith("an override is active since")


def leased(desk: Desk, session: Session) -> None:
    """A row that somebody took and never gives back."""
    now = desk.bot.app.clock.now()
    row = Due(kind="run", id="x", lane="cluster:default", due_at=now, token="gone")  # noqa: S106
    row.lease_until = now + timedelta(days=1)
    session.add(row)
