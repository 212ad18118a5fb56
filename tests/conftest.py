"""Fixtures that any test may ask for."""

import gc
import os
import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.arm import arm
from tests.databases import database, database_url, own_database, shared_statements
from tests.object_stores import lake
from tests.postgres import postgres_server, postgres_url
from tests.seeds import pytest_addoption
from tests.skips import pytest_runtest_makereport

__all__ = [
    "arm",
    "database",
    "database_url",
    "lake",
    "own_database",
    "postgres_server",
    "postgres_url",
    "pytest_addoption",
    "pytest_runtest_makereport",
    "shared_statements",
]

# That a machine is busy is no failure.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


def pytest_collection_finish() -> None:
    """Leaves what is there by now, and stays, out of each collection of garbage."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def temporary_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What programs that a test kills leave in TMPDIR stays among the files of the tests."""
    tempfile.gettempdir()  # where this process keeps its own, whatever comes
    environment = os.environ  # noqa: TID251  # programs find TMPDIR there alone
    before = environment.get("TMPDIR")
    environment["TMPDIR"] = str(tmp_path_factory.mktemp("temporary"))
    yield
    if before is None:
        del environment["TMPDIR"]
    else:
        environment["TMPDIR"] = before


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Names a case of bytes by its argument.

    Bytes that are made at collection, such as gzip files with their time, may differ from one
    process to the next; xdist then runs nothing.
    """
    return argname if isinstance(val, bytes) else None
