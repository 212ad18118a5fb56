"""`make test-release` rehearses a release; a plain `make test` leaves the rehearsal out."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves the rehearsal out of runs that do not name this folder."""
    named = [Path(each.partition("::")[0]).resolve() for each in config.args]
    is_named = any(path == HERE or HERE in path.parents for path in named)
    return None if is_named or collection_path.name != "test_rehearsal.py" else True
