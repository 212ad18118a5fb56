"""What docs/running.md has people type when a database has to come back, typed literally."""

import asyncio
import re
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from playground.story.person import Person
from playground.story.steps import ends_well, is_admitted, submits
from tests.cluster.bots import PlaneStory
from tests.cluster.control_plane import ControlPlane
from tests.node.bot_image import NAME
from tests.node.bot_pod import BotInPod, opened_story
from tests.node.storage import CLASS
from tests.node.test_bot import ASKED, image, teams
from tests.node.test_kinds import PLAIN, WRITES

__all__ = ["image", "teams"]
_PAGE = Path(__file__).parents[2] / "docs" / "running.md"
_BLOCK_SECONDS = 300.0
_QUICK = f"{PLAIN} --gpus 1 -- python3 -c \"print('loss 0.25')\""
_LONG = f'{PLAIN} --gpus 1 -- sh -c "echo loss 0.5; sleep 60; echo loss 0.125"'


class Operator:
    """Whoever follows the page: in a folder, with kubectl for the cluster."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        self._folder = folder
        self._kubeconfig = plane.kubeconfig

    async def types(self, heading: str, number: int) -> str:
        """Runs a shell block below a heading of the page; returns what it printed."""
        return await asyncio.to_thread(self._run, _blocks(heading, "sh")[number])

    def writes_pod(self, **spec: Any) -> None:
        """Writes restore.yaml, with the image of the Deployment and what else is asked for."""
        pod = yaml.safe_load(_blocks("Restore", "yaml")[0])
        pod["spec"] |= spec
        pod["spec"]["containers"][0]["image"] = NAME
        (self._folder / "restore.yaml").write_text(yaml.safe_dump(pod), encoding="utf-8")

    def starts_pod(self) -> None:
        """What a lost database and a restore begin with: the bot stops, and the pod is there."""
        lines = _blocks("Restore", "sh")[0].splitlines()
        self._run("\n".join(lines[:4]))

    def _run(self, block: str) -> str:
        done = subprocess.run(
            ["env", f"KUBECONFIG={self._kubeconfig}", "bash", "-euc", block],  # noqa: S607  # on PATH
            capture_output=True,
            text=True,
            check=False,
            cwd=self._folder,
            timeout=_BLOCK_SECONDS,
        )
        assert done.returncode == 0, f"{block}\n{done.stdout}{done.stderr}"
        return done.stdout


def _blocks(heading: str, language: str) -> list[str]:
    """The code blocks of a section, without the indentation of a list."""
    page = _PAGE.read_text(encoding="utf-8")
    section = re.split(r"^## ", page.partition(f"\n## {heading}\n")[2], flags=re.MULTILINE)[0]
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```", section, re.MULTILINE | re.DOTALL)
    return [re.sub(rf"^{indent}", "", block, flags=re.MULTILINE) for indent, block in found]


@pytest.mark.usefixtures("teams", "image")
def test_the_page_brings_a_database_back(own: ControlPlane, tmp_path: Path) -> None:
    """First from a backup, then from what lives in the cluster."""
    operator = Operator(own, tmp_path)

    async def play() -> None:
        async with opened_story(own, tmp_path, CLASS) as story:
            story.allowed_writes |= WRITES | ASKED
            alice = story.person("Alice")
            await _runs(story, alice, "first")
            await operator.types("A support bundle", 0)
            _is_without_secrets(tmp_path / "bundle.tar.gz", story)
            assert " in run\n" in await operator.types("A bot that hangs", 0)
            await operator.types("Backup", 0)
            await _runs(story, alice, "later")
            await _is_restored(story, operator)
            await alice.types("#team-a", "/train why later")
            await alice.is_told("team-a has no run later")
            await alice.types("#team-a", "/train logs first")
            await alice.is_told("loss 0.25")
            await _is_adopted(story, operator, alice)

    asyncio.run(play())


def _is_without_secrets(bundle: Path, story: PlaneStory) -> None:
    with tarfile.open(bundle) as packed:
        members = [packed.extractfile(each) for each in packed.getmembers() if each.isfile()]
        content = b"".join(each.read() for each in members if each is not None)
    token = story.world.slack.credentials.bot_token
    assert b"team-a" in content
    assert token.encode() not in content


async def _is_restored(story: PlaneStory, operator: Operator) -> None:
    operator.writes_pod()
    assert "The database is ready" in await operator.types("Restore", 0)
    await operator.types("Restore", 1)
    await _is_back(story)


async def _is_adopted(story: PlaneStory, operator: Operator, alice: Person) -> None:
    """A run that goes on while the database is lost has a card again."""
    card = await submits(story, alice, "#team-a", "lane", _LONG)
    await is_admitted(story, card)
    await card.shows("lane · Running", "loss 0.5")
    operator.writes_pod(serviceAccountName="quartermaster", automountServiceAccountToken=True)
    await asyncio.to_thread(operator.starts_pod)
    assert "lane" in await operator.types("A lost database", 0)
    await operator.types("A lost database", 1)
    await _is_back(story)
    adopted = await story.card("#team-a", "lane")
    await adopted.shows("Succeeded", "loss 0.125")


async def _is_back(story: PlaneStory) -> None:
    bot = story.world.bot
    assert isinstance(bot, BotInPod)
    await asyncio.to_thread(bot.wait)


async def _runs(story: PlaneStory, alice: Person, name: str) -> None:
    card = await submits(story, alice, "#team-a", name, _QUICK)
    await is_admitted(story, card)
    await ends_well(alice, "#team-a", card, name)
