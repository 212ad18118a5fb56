"""The bot in which all states are shown, one after the other, on one database."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Table
from sqlmodel import Session, SQLModel

from tests.arm import Arm, served
from tests.handlers import anf_client
from tests.handlers.command_client import DATASETS, CommandClient, opened
from tests.playground.cluster.served import Runner, Served
from tests.states.state import Shown, StandingClock, State

SETTINGS = (
    """\
  snapshot_restore: {approvers: {people: [U0CAROL]}}
"""
    + DATASETS
    + """\
  classes: {standard: {budget: 8Ti}, premium: {}}
  default_class: standard
training:
  links:
    - {label: W&B, in_log: "https://wandb.ai/*/runs/*"}
"""
)


@contextmanager
def ground(folder: Path) -> Iterator[CommandClient]:
    """The bot with the cluster of the story, at one moment for ever."""
    runner = Runner()
    with (
        runner.running(),
        Served(runner).serving() as world,
        served(Arm()) as arm,
        pytest.MonkeyPatch.context() as patch,
    ):
        for key, value in arm.identity.items():
            patch.setenv(key, value)
        world.cluster.install("snapshots", "trident", "mpi-operator", "kuberay")
        anf_client.arrange(world.cluster, arm)
        changes = "anf: {changes: {longest: 30d}, "
        more = SETTINGS + anf_client.settings(arm).replace("anf: {", changes)
        url = f"sqlite:///{folder}/states.db"
        with opened(folder, url, world, more, clock=StandingClock()) as client:
            yield client


def shown(client: CommandClient, state: State) -> Shown:
    """What a person sees in a state; its rows are gone afterwards."""
    tables = SQLModel.metadata.sorted_tables
    rows = sorted(state.rows, key=lambda row: tables.index(_table(row)))

    def add(session: Session) -> None:
        for row in rows:
            # A copy, since a repeated transaction adds it again.
            session.add(type(row)(**row.model_dump()))
            session.flush()

    def delete(session: Session) -> None:
        for row in reversed(rows):
            session.connection().execute(_table(row).delete())

    if rows:
        client.application.database.transaction(add)
    try:
        return state.show(client)
    finally:
        if rows:
            client.application.database.transaction(delete)


def _table(row: SQLModel) -> Table:
    found: Table = SQLModel.metadata.tables[str(row.__tablename__)]
    return found
