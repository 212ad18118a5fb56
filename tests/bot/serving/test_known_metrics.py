"""The metrics by their names: conventions, and the page that lists them."""

import re

from tests.bot.serving.known_metrics import PAGE, known, written

UNITS = ("_seconds", "_bytes", "_minutes", "_messages", "_rows", "_total", "_gpus", "_up")
# Numbers of things, named after what they count.
COUNTS = {
    "approvals_waiting", "caches", "gpus", "gpus_allocated", "gpus_busy", "gpus_idle",
    "gpus_measured", "gpus_schedulable", "home_tabs", "idle_workloads", "quota_overrides_active",
    "runs", "sessions_idle", "slack_sockets",
}  # fmt: skip
LABELS = {
    "cluster", "kind", "method", "outcome", "phase", "policy", "resource", "result",
    "storage_class", "team", "verb",
}  # fmt: skip


def test_the_page_lists_every_metric() -> None:
    page = PAGE.read_text("utf-8")
    assert written(page) == page  # python -m tests.bot.serving.known_metrics writes it


def test_names_say_unit_or_count() -> None:
    for name in known():
        short = name.removeprefix("quartermaster_")
        assert re.fullmatch("quartermaster_[a-z_]+", name)
        assert short in COUNTS or name.endswith(UNITS), name
    assert {f"quartermaster_{each}" for each in COUNTS} - set(known()) == set()


def test_labels_name_no_people_or_runs() -> None:
    assert {label for each in known().values() for label in each.labels} == LABELS
