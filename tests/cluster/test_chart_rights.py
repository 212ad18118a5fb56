"""A bot with no rights but those that the chart grants for its configuration."""

import asyncio
import copy
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.cluster.api.connection import Connection
from bot.cluster.cluster import Cluster
from bot.quotas.engines.opening import watched_with
from playground.settings import Setup
from playground.story.steps import approves, asks_for_gpus, ends_well, is_admitted, submits
from playground.story.story import Story
from tests.cluster import kai, kubernetes
from tests.cluster.api import wait_for
from tests.cluster.bots import opened_story
from tests.cluster.control_plane import Audited, ControlPlane
from tests.cluster.installation import Installation
from tests.cluster.site import Site
from tests.deploy.features import default_cluster, with_minimal

TEAMS = {"team-a": "4", "team-b": "8"}
_TOKEN_SECONDS = 3600


@pytest.fixture(params=["kueue", "kai", "none"])
def engine(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


@pytest.fixture
def installation(
    plane: ControlPlane, site: Site, engine: str, tmp_path: Path
) -> Iterator[Installation]:
    """Rights for two teams and one engine."""
    if engine == "kai":
        kai.furnish(site)
    for name, quota in TEAMS.items():
        site.add_team(quota, name)
    made = Installation(plane, site, tmp_path)
    made.teams = list(TEAMS)
    values = with_minimal(made.of_teams(2), default_cluster(engine=engine), {"rightsOnly": True})
    del values["config"]["teams"]["team-a"]
    made.run("install", values)
    wait_for(lambda: made.may("create", "batch", "jobs", "team-b"), "its rights")
    yield made
    made.run("uninstall")


@pytest.fixture
def own(plane: ControlPlane, installation: Installation) -> ControlPlane:
    """The control plane, with the account of the installation for the bot."""
    path = f"/api/v1/namespaces/{installation.namespace}/serviceaccounts/{installation.account}"
    asked = {"spec": {"expirationSeconds": _TOKEN_SECONDS}}
    token = plane.api.ask("POST", f"{path}/token", json=asked)["status"]["token"]
    own = copy.copy(plane)
    own.bot_kubeconfig = plane.folder / f"{installation.release}.kubeconfig"
    kubernetes.write_kubeconfig(own.bot_kubeconfig, plane.url, token)
    return own


def refused(own: ControlPlane, installation: Installation) -> list[Audited]:
    asked = own.audited(installation.user)
    assert asked, "the bot asked as another"
    return [each for each in asked if each.status == 403]


@pytest.mark.usefixtures("gpus")
def test_everything_is_watched_with_its_rights(
    own: ControlPlane, installation: Installation, engine: str
) -> None:
    cluster = Cluster(
        "default",
        Connection.to(str(own.bot_kubeconfig)),
        "installation-1",
        watched=watched_with(engine),
    )
    cluster.start()
    try:
        wait_for(lambda: cluster.view.synced, "the first lists")
        wait_for(lambda: not [w for w in cluster.watches() if w.served and w.error], "the watches")
    finally:
        cluster.stop()
    assert refused(own, installation) == []


@pytest.mark.usefixtures("gpus")
@pytest.mark.parametrize("engine", ["kueue", "none"], indirect=True)
def test_a_run_ends_well_with_its_rights(
    own: ControlPlane, installation: Installation, engine: str, tmp_path: Path
) -> None:
    async def play() -> None:
        setup = Setup(clusters={"default": engine})
        async with opened_story(own, tmp_path, setup=setup) as story:
            if engine == "kueue":
                await _gets_more_quota(story)
            alice = story.person("Alice")
            command = "--image ghcr.io/acme/lane:3.1 --gpus 2 --env TEST_SECONDS=3s"
            card = await submits(
                story, alice, "#team-a", "lane", f"{command} -- python train.py --epochs 3"
            )
            await is_admitted(story, card)
            await ends_well(alice, "#team-a", card, "lane")

    asyncio.run(play())
    assert refused(own, installation) == []


async def _gets_more_quota(story: Story) -> None:
    alice, carol = story.person("Alice"), story.person("Carol")
    card, request = await asks_for_gpus(
        story,
        alice,
        '+2 --for 1h --reason "CVPR deadline"',
        title="Quota override for team-a: +2 h100",
        receipt="Requested for team-a: nominal quota 4 → 6 GPUs of h100, for 1h",
    )
    await approves(story, carol, request, card)
