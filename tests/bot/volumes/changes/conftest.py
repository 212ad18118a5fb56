"""Changes of volumes on SQLite, at the playground's Resource Manager."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.database.database import Database
from tests.arm import Arm, served
from tests.bot.quotas.people import FrozenClock
from tests.bot.volumes.changes.rig import Rig
from tests.databases import create_tables


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    url = f"sqlite:///{tmp_path}/test.db"
    create_tables(url)
    database, clock = Database(url), FrozenClock()
    with served(Arm(lambda: clock.moment)) as arm:
        for key in ("AZURE_CLIENT_ID", "AZURE_TENANT_ID", "AZURE_CLIENT_SECRET"):
            monkeypatch.delenv(key, raising=False)
        for key, value in arm.identity.items():
            monkeypatch.setenv(key, value)
        opened = Rig(database, arm, clock, tmp_path)
        yield opened
        opened.files.close()
    database.close()
