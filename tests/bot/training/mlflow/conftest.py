"""Each MLflow server for the tests here: the playground's at once, a real one in the long tests."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from bot.config import Mlflow
from tests.bot.ground import Outside
from tests.bot.training.mlflow.serving import (
    PlaygroundTracking,
    RealTracking,
    Tracking,
    real_server,
)
from tests.bot.training.rig import Rig


@pytest.fixture(scope="session")
def mlflow_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real MLflow server that all tests share; each has an experiment of its own."""
    with real_server(tmp_path_factory.mktemp("mlflow")) as url:
        yield url


@pytest.fixture(params=["playground", pytest.param("real", marks=pytest.mark.slow)])
def tracking(request: pytest.FixtureRequest, outside: Outside) -> Iterator[Tracking]:
    """Each of the servers."""
    made: Tracking
    if request.param == "real":
        made = RealTracking(outside, request.getfixturevalue("mlflow_server"))
    else:
        made = PlaygroundTracking(outside)
    with closing(made):
        yield made


@pytest.fixture
def exporting(rig: Rig, tracking: Tracking) -> Rig:
    """Training whose runs are exported to that server."""
    mlflow = Mlflow(url=tracking.url, experiments={"team-a": tracking.experiment})
    rig.policy = rig.policy.model_copy(update={"mlflow": mlflow})
    return rig
