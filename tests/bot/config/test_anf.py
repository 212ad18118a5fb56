"""What quartermaster.yaml may say of Azure NetApp Files, and what people read when it is wrong."""

from pathlib import Path

import pytest

from tests.bot.config.files import GOOD, load, refusal

ANF = """\
anf:
  subscription: 01234567-89ab-cdef-0123-456789abcdef
"""


def test_a_subscription_is_all_it_takes(tmp_path: Path) -> None:
    found = load(tmp_path, GOOD + ANF).anf
    assert found is not None
    assert found.endpoint == "https://management.azure.com"
    assert (found.accounts, found.classes, found.price_per_gib_month) == ((), {}, {})


def test_without_it_nothing_is_asked(tmp_path: Path) -> None:
    assert load(tmp_path, GOOD).anf is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "  accounts: [anf-ml]\n",
            (
                'anf.accounts[0] is "anf-ml"; it must be a resource group and a NetApp account in'
                " it, like ml-platform/anf-ml."
            ),
        ),
        (
            "  endpoint: http://management.azure.com\n",
            (
                'anf.endpoint is "http://management.azure.com"; it must be the address of Resource'
                " Manager, like https://management.azure.com."
            ),
        ),
        (
            "  endpoint: http://127.0.0.1:9000\n",
            "Resource Manager without TLS is for the playground only; use https://.",
        ),
        (
            "  price_per_gib_month: {Gold: 1}\n",
            (
                'anf.price_per_gib_month.Gold is named "Gold"; it must be Standard, Premium, Ultra'
                " or Flexible."
            ),
        ),
    ],
)
def test_wrong_values_are_named_with_right_ones(tmp_path: Path, line: str, message: str) -> None:
    assert refusal(tmp_path, GOOD + ANF + line) == f"quartermaster.yaml line 11: {message}"


def test_a_subscription_has_an_id(tmp_path: Path) -> None:
    assert refusal(tmp_path, GOOD + "anf: {subscription: mine}\n") == (
        'quartermaster.yaml line 9: anf.subscription is "mine"; it must be a'
        " subscription id like 01234567-89ab-cdef-0123-456789abcdef."
    )


def test_sovereign_clouds_have_their_own_address(tmp_path: Path) -> None:
    found = load(tmp_path, GOOD + ANF + "  endpoint: https://management.usgovcloudapi.net/\n").anf
    assert found is not None
    assert found.endpoint == "https://management.usgovcloudapi.net"
