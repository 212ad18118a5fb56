"""What the tests of the chart share."""

import pytest

from tests.deploy.helm_program import Helm, kept


@pytest.fixture(scope="session")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """Helm, if it was built before."""
    program = kept()
    if program is None:
        pytest.skip("Helm is not here; `make test-chart` builds it")
    return Helm(program, tmp_path_factory.mktemp("helm"))
