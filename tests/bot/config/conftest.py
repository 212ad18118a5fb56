"""The environment of whoever runs the tests must not reach them."""

import pytest


@pytest.fixture(autouse=True)
def quiet_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("DATABASE_URL", "SECRETS_DIR"):
        monkeypatch.delenv(f"QUARTERMASTER_{key}", raising=False)
    for key in ("BOT_TOKEN", "APP_TOKEN", "SIGNING_SECRET", "API_URL"):
        monkeypatch.delenv(f"SLACK_{key}", raising=False)
