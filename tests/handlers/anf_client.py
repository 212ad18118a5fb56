"""A bot that can ask Azure, where the volumes of two teams are."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.slack.text import as_text
from playground.arm.estate import GIB, SUBSCRIPTION, Volume
from playground.arm.trident import Wanted, export, provision, storage_class
from playground.cluster.cluster import Cluster
from tests.arm import Arm, served
from tests.handlers.command_client import CommandClient, opened
from tests.playground.cluster.served import Runner, Served

PRICES = "{Standard: 0.15, Premium: 0.29}"


@dataclass(frozen=True)
class AnfClient:
    """A bot that can ask Azure, the Azure, and the cluster."""

    client: CommandClient
    arm: Arm
    world: Cluster

    def says(self, person: str, channel: str, text: str) -> str:
        """What is told at once."""
        return self.client.says(person, channel, text)

    def learns(self, person: str, channel: str, words: str) -> str:
        """What follows."""
        return self.follows(person, channel, "anf", words)

    def follows(self, person: str, channel: str, command: str, words: str) -> str:
        """What follows, of any command."""
        incoming = self.client.incoming(person, channel, command=command, words=words)
        reply = self.client.application.dispatcher.answer(incoming)
        assert reply is not None
        assert reply.later is not None, as_text(reply)
        return as_text(reply.later())

    def button(self, person: str, channel: str, words: str) -> str:
        """The value of the button that follows."""
        incoming = self.client.incoming(person, channel, command="anf", words=words)
        reply = self.client.application.dispatcher.answer(incoming)
        assert reply is not None
        assert reply.later is not None
        card = reply.later().card
        assert card is not None
        return card.buttons[0].value

    def reads(self, person: str, channel: str, words: str) -> list[str]:
        """What follows, line by line, with the cells of tables apart by bars."""
        told = self.learns(person, channel, words)
        return [re.sub(r" {2,}", " | ", line.strip()) for line in told.splitlines()]


def settings(arm: Arm, more: str = "") -> str:
    told = f"endpoint: '{arm.url}', price_per_gib_month: {PRICES}{more}"
    at = f"{{subscription: {SUBSCRIPTION}, {told}}}"
    return f"playground: true\nanf: {at}\n"


@pytest.fixture(scope="module")
def opened_client(tmp_path_factory: pytest.TempPathFactory, runner: Runner) -> Iterator[AnfClient]:
    """One for all of these tests, which only look: opening it takes longer than any of them."""
    folder = tmp_path_factory.mktemp("anf")
    with serving(folder, runner, arrange) as client:
        yield client


@contextmanager
def serving(
    folder: Path, runner: Runner, arranged: Callable[[Cluster, Arm], None], more: str = ""
) -> Iterator[AnfClient]:
    """A bot with these settings, after the cluster and Azure were arranged."""
    with (
        Served(runner).serving() as world,
        served(Arm()) as arm,
        pytest.MonkeyPatch.context() as patch,
    ):
        for key, value in arm.identity.items():
            patch.setenv(key, value)
        arranged(world.cluster, arm)
        with opened(folder, f"sqlite:///{folder}/test.db", world, settings(arm, more)) as client:
            yield AnfClient(client, arm, world.cluster)


@pytest.fixture
def client(opened_client: AnfClient) -> Iterator[AnfClient]:
    """As it was at first, whatever other tests did to the volumes."""
    arm = opened_client.arm
    there = [(each, each.pool) for each in arm.estate.volumes]
    arm.ledger.requests.clear()
    yield opened_client
    arm.estate.volumes = [each for each, _ in there]
    for volume, pool in there:
        volume.pool = pool


def arrange(cluster: Cluster, arm: Arm) -> None:
    cluster.create("storageclasses", storage_class())
    lane = provision(cluster, arm.estate, arm.premium, Wanted("team-a", "lane-data", 1024))
    lane.used = 412 * GIB
    provision(cluster, arm.estate, arm.standard, Wanted("team-b", "budget", 100))
    by_hand = arm.estate.add_volume(arm.tuned, "models", 512 * GIB)
    by_hand.own_throughput = 40
    export(cluster, by_hand, "models", Wanted("team-a", "models", 512))
    elsewhere = Volume(arm.tuned, "faces", "faces", 512 * GIB, address="127.0.0.1")
    export(cluster, elsewhere, "faces", Wanted("team-a", "faces", 512))
