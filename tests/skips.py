"""In CI a test that is skipped for want of something that could be installed has failed."""

import os
from collections.abc import Generator

import pytest

NOT_TO_BE_INSTALLED = (
    "no account in Azure is named",
    "root may read everything",
    "no file systems may be mounted here",
    "no program may be traced here",
    "only all tests of this folder together use every right",
    "this test needs a control plane of its own",
)
"""How the reasons begin for which a test may be skipped in CI, too."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turns a skip into a failure where CI has to have what the test needs."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and _is_ci():
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        reason = reason.removeprefix("Skipped: ")
        if not reason.startswith(NOT_TO_BE_INSTALLED):
            report.outcome = "failed"
            report.longrepr = f"CI must not skip this test: {reason}"
    return report


def _is_ci() -> bool:
    environment = os.environ  # noqa: TID251  # a test session may ask where it runs
    return environment.get("CI") == "true"
