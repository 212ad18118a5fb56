"""A secret, typed and printed in every way that people and programs have, is found nowhere."""

import asyncio
import sqlite3
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from playground.cluster.control.training import Training
from playground.opening import opened
from playground.slack.people import BOT_USER
from playground.story.steps import is_admitted, submits
from playground.story.story import Story
from playground.world import DATABASE, LOG, Options, World
from tests.patience import patient

CANARY = "canary7Q2x9ZfBv4LmRtKs1WpD8aHc6Ny3"
TOKEN = f"hf_{CANARY}"
HEX40 = "feedc0de0123456789abcdef0123456789abcdef"
JWT = f"eyJhbGciOiJIUzI1NiJ9.{CANARY}.{CANARY}"
SAS = f"https://acme.blob.core.windows.net/c?sv=2024&sig={CANARY}%3D"
SIGNED = f"https://b.s3.amazonaws.com/x?X-Amz-Credential={CANARY}%2F1&X-Amz-Signature={CANARY}"
HOOK = f"https://hooks.slack.com/services/T0AAAA/B0AAAA/{CANARY}"
LOGIN = f"postgres://bot:{CANARY}@db/x"
IMAGE = "ghcr.io/acme/leaky"
SUBMIT = f"/train submit leaky --image {IMAGE}:1 --gpus 1"

TYPED = (
    f"{SUBMIT} --env HF_TOKEN={CANARY} -- python t.py",
    f"{SUBMIT} --env ANY={TOKEN} -- python t.py",
    f"{SUBMIT} --env WANDB={HEX40} -- python t.py",
    f"{SUBMIT} --env AUTH={CANARY} -- python t.py",
    f"{SUBMIT} --env URL={LOGIN} -- python t.py",
    f"{SUBMIT} -- python t.py --password {CANARY}",
    f"{SUBMIT} -- python t.py --api-key {CANARY}",
    f"{SUBMIT} -- python t.py --token={CANARY}",
    f"{SUBMIT} -- python t.py logger.wandb.api_key={CANARY}",
    f"{SUBMIT} -- bash -c 'python t.py --password {CANARY}; true'",
    f"{SUBMIT} -- curl -u me:{CANARY} https://host",
    f"{SUBMIT} -- python t.py {JWT}",
    f"{SUBMIT} -- wget {SAS}",
    f"{SUBMIT} -- wget {SIGNED}",
    f"/train submit -- python t.py --password {CANARY}",
    f"/train sbumit leaky -- python t.py {TOKEN}",
    f"/train stop {TOKEN}",
    f"/train list --team {TOKEN}",
    f"/quota request +1 --reason '{HOOK}'",
    f"/quota request +1 --for 1d --reason {TOKEN}",
)
PRINTED = (
    f"token: {TOKEN}",
    f"HF_TOKEN={CANARY}",
    f"WANDB={HEX40} AUTH={CANARY}",
    f"+ python t.py --password {CANARY} --api-key '{CANARY}'",
    f"Namespace(api_key='{CANARY}', epochs=3)",
    f"GET {SAS}&se=1",
    f"GET {SIGNED}&x=1",
    f"posting to {HOOK}",
    f"connecting to {LOGIN}",
    f"Authorization: Bearer {CANARY}",
    f"got {JWT}",
    "x" * 1980 + f" {TOKEN}",
    "-----BEGIN PRIVATE KEY-----",
    CANARY,
    "-----END PRIVATE KEY-----",
    f"RuntimeError: login at {LOGIN} failed, password={CANARY}",
)


def printed(_training: Training, started: datetime, until: datetime) -> list[tuple[datetime, str]]:
    """All of it again and again, and last what the card quotes."""
    passed = int((until - started).total_seconds())
    return [
        (started + timedelta(seconds=second), line)
        for second in range(0, passed, 4)
        for line in PRINTED
    ]


async def play(story: Story) -> None:
    """Alice types secrets, and runs a program that prints them and fails."""
    alice = story.person("Alice")
    for text in TYPED:
        await alice.types("#team-a", text)
        await alice.is_told("")
    story.trains(IMAGE, fails_after=40, exit_code=1, log=printed)
    card = await submits(
        story, alice, "#team-a", "leaky", f"--image {IMAGE}:1 --gpus 1 -- python t"
    )
    await is_admitted(story, card)
    await card.shows("Failed after")
    for text in ("/train logs leaky", "/train show leaky", "/train export leaky", "/train list"):
        await alice.types("#team-a", text)
        await alice.is_told("")
    await alice.types("#team-a", "/train logs leaky --tail 5000")
    await alice.is_told("is in the file leaky.log, which I send you in a direct message.")
    await alice.is_written_to("[file: leaky.log, ")


def traces(world: World, out: Path) -> list[str]:
    """Where any part of the secret that is worth something can be found."""
    slack = world.slack
    said = [
        repr(message)
        for channel in slack.channels.values()
        for message in channel.messages
        if message.user == BOT_USER
    ]
    said += [repr(each) for each in slack.transcript.entries if each.by == BOT_USER]
    said += [repr(vars(slack.views)), repr([vars(each) for each in slack.files.values()])]
    places = {f"Slack {number}": text for number, text in enumerate(said)}
    places["log"] = (out / LOG).read_text("utf-8")
    with closing(sqlite3.connect(out / DATABASE)) as database:
        names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (name,) in names:
            rows = database.execute(f"SELECT * FROM {name}").fetchall()  # noqa: S608 - names of our own
            places[f"table {name}"] = repr(rows)
    parts = (CANARY[:12], CANARY[-12:], HEX40[:12], HEX40[-12:])
    return [
        f"{place}: {text[max(0, text.index(part) - 80) :][:200]}"
        for place, text in places.items()
        for part in parts
        if part in text
    ]


@pytest.mark.slow
def test_a_secret_is_found_nowhere(options: Options) -> None:
    async def followed() -> tuple[list[str], int]:
        async with opened(options) as world:
            await world.start_bots()
            await play(Story(patient(world)))
            shown = sum(
                "[hidden]" in repr(message)
                for channel in world.slack.channels.values()
                for message in channel.messages
            )
            [log] = world.slack.files.values()
            assert log.content.count(b"[hidden]") > shown, "the file hides nothing"
            return traces(world, options.out), shown

    found, shown = asyncio.run(followed())
    assert found == []
    assert shown > 2, "nothing was printed, so that nothing was hidden"
