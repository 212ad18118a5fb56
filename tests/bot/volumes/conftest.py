"""The edge against the playground's Resource Manager, with the identity of its platform."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from bot.config import Settings
from bot.volumes.anf import NetAppFiles
from playground.arm.estate import SUBSCRIPTION
from tests.arm import Arm
from tests.bot.ground import CAROL, TEAM_A
from tests.bot.training.rig import LIVE_TEAM


def settings_for(arm: Arm, **others: object) -> Settings:
    """The configuration of one team, with Azure NetApp Files at that address."""
    return Settings.model_validate(
        {
            "workspace": "T0QM",
            "playground": True,
            "admins": {"people": [CAROL]},
            "teams": {"team-a": {"channels": [TEAM_A], **LIVE_TEAM}},
            "anf": {"subscription": SUBSCRIPTION, "endpoint": arm.url, **others},
        }
    )


@pytest.fixture
def identity(arm: Arm, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment that a platform with identities gives a process."""
    for key in ("AZURE_CLIENT_ID", "AZURE_TENANT_ID", "AZURE_CLIENT_SECRET"):
        monkeypatch.delenv(key, raising=False)
    for key, value in arm.identity.items():
        monkeypatch.setenv(key, value)


@pytest.fixture
def files(arm: Arm, identity: None) -> Iterator[NetAppFiles]:  # noqa: ARG001 - it has to be there
    """What the bot sees of the playground's subscription."""
    with closing(NetAppFiles(lambda: settings_for(arm))) as open_files:
        yield open_files
