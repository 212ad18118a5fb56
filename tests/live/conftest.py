"""Tests that Azure itself can be asked to pass: once in the playground, and once there.

`make test-azure` runs them in the account that the environment names; docs/anf.md says how. In
the playground they run with all others, so that they are known to work. An account is nothing that
can be installed, so that they are skipped without one, in CI too.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.database.database import Database
from playground.arm.estate import ACCOUNT, GIB, GROUP, SUBSCRIPTION
from tests.arm import Arm, served
from tests.live.azure import Live, Place, Watch, opened, settings_of

_VARIABLES = {name: f"QUARTERMASTER_AZURE_{name.upper()}" for name in Place._fields}
_TIMEOUT_SECONDS = 3600


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Gives tests in Azure the time that it takes."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.timeout(_TIMEOUT_SECONDS))


@pytest.fixture(params=["playground", "azure"])
def live(
    request: pytest.FixtureRequest,
    own_database: Database,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Live]:
    """A volume in a pool with manual QoS: one in the playground, then one in Azure."""
    if request.param == "azure":
        at = _named()
        with opened(at, settings_of(at), own_database, Watch(by_hand=False), tmp_path) as found:
            yield found
        return
    clock = Watch(by_hand=True)
    at = Place(SUBSCRIPTION, GROUP, ACCOUNT, "tuned", "live", "slow")
    with served(_rehearsal(clock)) as arm:
        for key in ("AZURE_CLIENT_ID", "AZURE_TENANT_ID", "AZURE_CLIENT_SECRET"):
            monkeypatch.delenv(key, raising=False)
        for key, value in arm.identity.items():
            monkeypatch.setenv(key, value)
        with opened(at, settings_of(at, arm.url), own_database, clock, tmp_path) as found:
            yield found


def _named() -> Place:
    """What the environment names."""
    environment = os.environ  # noqa: TID251  # a test session may ask where it runs
    missing = [each for each in _VARIABLES.values() if not environment.get(each)]
    if missing:
        pytest.skip(f"no account in Azure is named: {', '.join(missing)} (docs/anf.md)")
    return Place(**{name: environment[variable] for name, variable in _VARIABLES.items()})


def _rehearsal(clock: Watch) -> Arm:
    """The playground's Azure, with a volume like the one that is asked for."""
    arm = Arm(clock.now)
    volume = arm.estate.add_volume(arm.tuned, "live", 100 * GIB)
    volume.own_throughput = 10
    arm.estate.add_pool(arm.tuned.account, "slow", "Standard", 1).qos = "Manual"
    return arm
