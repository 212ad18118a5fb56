"""The edge against the playground's Resource Manager, with the identity of its platform."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from bot.database.database import Database
from bot.volumes.anf import NetAppFiles
from tests.arm import Arm
from tests.bot.ground import Outside
from tests.bot.volumes.growths.growing import Growing
from tests.bot.volumes.repairs.repairing import Workshop
from tests.bot.volumes.rig import Rig
from tests.bot.volumes.settings import settings_for


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


@pytest.fixture
def rig(
    own_database: Database,
    outside: Outside,
    arm: Arm,
    identity: None,  # noqa: ARG001 - it has to be there
) -> Iterator[Rig]:
    """A team's volume, on a database, in the playground's cluster and in its Azure, over HTTP."""
    built = Rig(own_database, outside, arm)
    yield built
    built.close()


@pytest.fixture
def shop(
    own_database: Database,
    outside: Outside,
    arm: Arm,
    identity: None,  # noqa: ARG001 - it has to be there
) -> Iterator[Workshop]:
    """The same, with those who repair what Trident keeps."""
    built = Workshop(own_database, outside, arm)
    yield built
    built.close()


@pytest.fixture
def growing(
    own_database: Database,
    outside: Outside,
    arm: Arm,
    identity: None,  # noqa: ARG001 - it has to be there
) -> Iterator[Growing]:
    """The same, with those who have PVCs grow."""
    built = Growing(own_database, outside, arm)
    yield built
    built.close()
