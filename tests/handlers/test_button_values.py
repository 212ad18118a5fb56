"""Buttons of old messages, whose values say other things than today's."""

import pytest

from tests.fuzz.acts import CANARY
from tests.handlers.command_client import ALICE, CAROL, TEAM_A
from tests.handlers.furnished import Furnished

OUT_OF_DATE = "This button is out of date."


@pytest.mark.parametrize("action", ["dataset.pin", "dataset.extend", "train.extend"])
@pytest.mark.parametrize("moment", ["", " ", " soon", " 1e9", f" {10**18}", f" {'9' * 5000}"])
def test_moments_nobody_can_read_are_refused(
    everything: Furnished, action: str, moment: str
) -> None:
    everything.put_back()
    row = everything.values[action].partition(" ")[0]
    said = everything.client.clicks(ALICE, TEAM_A, action, row + moment)
    assert said.startswith(OUT_OF_DATE)


@pytest.mark.parametrize("nodes", ["", " two", " -1", " ²", f" {10**30}", f" {'9' * 5000}"])
def test_counts_nobody_can_read_are_refused(everything: Furnished, nodes: str) -> None:
    everything.put_back()
    row = everything.values["train.requeue"].partition(" ")[0]
    said = everything.client.clicks(ALICE, TEAM_A, "train.requeue", row + nodes)
    assert said.startswith(OUT_OF_DATE)


@pytest.mark.parametrize(
    ("action", "key"),
    [
        ("dataset.cache", "b"),
        ("dataset.cache", "k"),
        ("anf.grow", "s"),
        ("pvc.resize", "s"),
        ("pvc.copy", "s"),
        ("anf.go", "g"),
    ],
)
@pytest.mark.parametrize("number", [-1, 2**63, 10**30])
def test_numbers_no_row_can_hold_are_refused(
    everything: Furnished, action: str, key: str, number: int
) -> None:
    """Of two keys of one name the last one counts."""
    everything.put_back()
    value = everything.values[action].removesuffix("}") + f', "{key}": {number}}}'
    said = everything.client.clicks(CAROL, TEAM_A, action, value)
    assert said.startswith(OUT_OF_DATE)


@pytest.mark.parametrize("at", [-1, 10**400])
def test_doubts_of_no_time_are_refused(everything: Furnished, at: int) -> None:
    everything.put_back()
    value = everything.values["again"].removesuffix("}") + f', "at": {at}}}'
    said = everything.client.clicks(ALICE, TEAM_A, "again", value)
    assert said.startswith("This question is out of date.")


def test_no_class_in_a_button_is_the_usual(everything: Furnished) -> None:
    everything.put_back()
    value = everything.values["dataset.cache"].removesuffix("}") + ', "c": ""}'
    said = everything.client.clicks(CAROL, TEAM_A, "dataset.cache", value)
    assert said.startswith("Caching retina@v1")


@pytest.mark.parametrize("action", ["snapshot.revert-saved", "snapshot.revert-unsaved"])
def test_secrets_in_a_button_are_refused(everything: Furnished, action: str) -> None:
    """A reason typed long ago may hold one that was not known as such then."""
    everything.put_back()
    before = everything.effects()
    value = f"{everything.values[action]} {CANARY}"
    said = everything.client.clicks(ALICE, TEAM_A, action, value)
    assert said.startswith("Something in that looks like a secret. None of it was stored.")
    assert everything.effects() == before


@pytest.mark.parametrize("series", ["", "-1", "²", "1e3", str(2**63), "9" * 400, "9" * 5000])
def test_series_nobody_can_have_are_unknown(everything: Furnished, series: str) -> None:
    everything.put_back()
    said = everything.client.clicks(ALICE, TEAM_A, "gpu.mine", series)
    assert said.startswith("This workload is no longer known.")
