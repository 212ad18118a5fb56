"""The edge against the playground's Resource Manager, with the identity of its platform."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.database.database import Database
from bot.volumes.anf import NetAppFiles
from tests.arm import Arm
from tests.bot.ground import Outside
from tests.bot.volumes.growths import Growing
from tests.bot.volumes.repairs import Workshop
from tests.bot.volumes.rig import Rig
from tests.bot.volumes.settings import settings_for
from tests.databases import create_tables


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
def rig(arm: Arm, identity: None, tmp_path: Path) -> Iterator[Rig]:  # noqa: ARG001 - it has to be there
    """A team's volume, on SQLite, in the playground's cluster and in its Azure, over HTTP."""
    url = f"sqlite:///{tmp_path}/test.db"
    create_tables(url)
    database = Database(url)
    outside = Outside(tmp_path)
    built = Rig(database, outside, arm)
    yield built
    built.close()
    outside.close()
    database.close()


@pytest.fixture
def shop(arm: Arm, identity: None, tmp_path: Path) -> Iterator[Workshop]:  # noqa: ARG001 - it has to be there
    """The same, with those who repair what Trident keeps."""
    url = f"sqlite:///{tmp_path}/test.db"
    create_tables(url)
    database = Database(url)
    outside = Outside(tmp_path)
    built = Workshop(database, outside, arm)
    yield built
    built.close()
    outside.close()
    database.close()


@pytest.fixture
def growing(arm: Arm, identity: None, tmp_path: Path) -> Iterator[Growing]:  # noqa: ARG001 - it has to be there
    """The same, with those who have PVCs grow."""
    url = f"sqlite:///{tmp_path}/test.db"
    create_tables(url)
    database = Database(url)
    outside = Outside(tmp_path)
    built = Growing(database, outside, arm)
    yield built
    built.close()
    outside.close()
    database.close()
