"""A machine without any cloud's identity."""

import os
from pathlib import Path

import pytest

_OF_CLOUDS = ("AWS_", "AZURE_", "AAD_", "IDENTITY_")


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No keys, no metadata service, no az, aws or kubelogin."""
    environment = os.environ  # noqa: TID251 - what a cloud's library would read of this machine
    for name in [each for each in environment if each.startswith(_OF_CLOUDS)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "no-aws-config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "no-aws-keys"))
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
