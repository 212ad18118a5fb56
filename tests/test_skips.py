"""Skips, as a test session of its own counts them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TESTS = """
import pytest

def test_that_needs_a_server():
    pytest.skip("no server here")

@pytest.mark.skipif(True, reason="no client here")
def test_that_needs_a_client():
    pass

def test_that_needs_an_account():
    pytest.skip("no account in Azure is named: A, B")
"""


@pytest.mark.parametrize(
    ("ci", "counted"),
    [("true", "1 failed, 1 skipped, 1 error"), ("", "3 skipped")],
    ids=["ci", "elsewhere"],
)
def test_ci_fails_for_what_can_be_installed(tmp_path: Path, ci: str, counted: str) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "tests.skips", "-q", "--no-header"]
    environment = {**os.environ, "CI": ci, "PYTHONPATH": str(ROOT)}  # noqa: TID251  # for a child
    done = subprocess.run(
        [*command, "--rootdir", str(tmp_path), "-c", "/dev/null", str(tmp_path)],
        env=environment, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.stdout.splitlines()[-1].startswith(f"{counted} in"), done.stdout
    assert ("CI must not skip this test: no server here" in done.stdout) == bool(ci)
