"""Pools that are created and deleted, on a database, at the playground's Resource Manager."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.database.database import Database
from tests.arm import Arm, served
from tests.bot.quotas.people import FrozenClock
from tests.bot.volumes.provisioning.provisioning import Provisioning


@pytest.fixture
def pools(
    own_database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Provisioning]:
    clock = FrozenClock()
    with served(Arm(lambda: clock.moment)) as arm:
        for key in ("AZURE_CLIENT_ID", "AZURE_TENANT_ID", "AZURE_CLIENT_SECRET"):
            monkeypatch.delenv(key, raising=False)
        for key, value in arm.identity.items():
            monkeypatch.setenv(key, value)
        opened = Provisioning(own_database, arm, clock, tmp_path)
        yield opened
        opened.files.close()
