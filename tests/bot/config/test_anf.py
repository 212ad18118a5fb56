"""What quartermaster.yaml may say of Azure NetApp Files, and what people read when it is wrong."""

from pathlib import Path

import pytest

from tests.bot.config.files import GOOD, load, refusal

FIRST = "01234567-89ab-cdef-0123-456789abcdef"
OTHER = "89abcdef-89ab-cdef-0123-456789abcdef"
ANF = f"""\
anf:
  subscription: {FIRST}
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


def test_further_subscriptions_name_their_accounts(tmp_path: Path) -> None:
    found = load(
        tmp_path, GOOD + ANF + f"  other_subscriptions: {{{OTHER}: [ml-lab/anf-ml]}}\n"
    ).anf
    assert found is not None
    assert found.subscriptions == {FIRST: (), OTHER: ("ml-lab/anf-ml",)}
    assert found.reads(FIRST, "any-group/any-account")
    assert found.reads(OTHER, "ML-lab/anf-ml")
    assert not found.reads(OTHER, "ml-lab/another")
    assert not found.reads("22222222-89ab-cdef-0123-456789abcdef", "ml-lab/anf-ml")


def test_one_subscription_is_not_several(tmp_path: Path) -> None:
    found = load(tmp_path, GOOD + ANF).anf
    assert found is not None
    assert (dict(found.subscriptions), found.has_several) == ({FIRST: ()}, False)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            f"[{OTHER}]",
            (
                "anf.other_subscriptions is a list; it must be subscription ids with the accounts"
                " to read there, like {89abcdef-0123-4567-89ab-cdef01234567: [ml-lab/anf-ml]}."
            ),
        ),
        (
            "{research: [ml-lab/anf-ml]}",
            (
                'anf.other_subscriptions.research is named "research"; it must be a subscription'
                " id like 01234567-89ab-cdef-0123-456789abcdef."
            ),
        ),
        (
            f"{{{OTHER}: []}}",
            (
                f"anf.other_subscriptions.{OTHER} is a list; it must name the accounts to read"
                " there, like [ml-lab/anf-ml]."
            ),
        ),
        (
            f"{{{OTHER}: }}",
            (
                f"anf.other_subscriptions.{OTHER} is empty; it must name the accounts to read"
                " there, like [ml-lab/anf-ml]."
            ),
        ),
        (
            f"{{{OTHER}: [anf-ml]}}",
            (
                f'anf.other_subscriptions.{OTHER}[0] is "anf-ml"; it must be a resource group and'
                " a NetApp account in it, like ml-platform/anf-ml."
            ),
        ),
        (
            f"{{{FIRST}: [ml-lab/anf-ml]}}",
            (
                f"anf.other_subscriptions names {FIRST}, which is anf.subscription; name its"
                " accounts in anf.accounts, like accounts: [ml-platform/anf-ml]."
            ),
        ),
    ],
)
def test_wrong_further_subscriptions_are_told(tmp_path: Path, value: str, message: str) -> None:
    text = GOOD + ANF + f"  other_subscriptions: {value}\n"
    assert refusal(tmp_path, text) == f"quartermaster.yaml line 11: {message}"


def test_pools_of_classes_can_be_told_apart(tmp_path: Path) -> None:
    line = f"  classes: {{fast: [premium-1, {OTHER}/ml-lab/anf-ml/premium-1]}}\n"
    others = f"  other_subscriptions: {{{OTHER}: [ML-lab/anf-ml]}}\n"
    found = load(tmp_path, GOOD + ANF + others + line).anf
    assert found is not None
    assert found.classes == {"fast": ("premium-1", f"{OTHER}/ml-lab/anf-ml/premium-1")}
    assert refusal(tmp_path, GOOD + ANF + "  classes: {fast: [anf-ml/premium-1]}\n") == (
        'quartermaster.yaml line 11: anf.classes.fast[0] is "anf-ml/premium-1"; it must be the name'
        " of a capacity pool like premium-1, or its subscription, resource group, account and name,"
        " like 01234567-89ab-cdef-0123-456789abcdef/ml-platform/anf-ml/premium-1."
    )


@pytest.mark.parametrize(
    ("more", "subscription", "remedy"),
    [
        ("", OTHER, "anf.other_subscriptions"),
        (f"  other_subscriptions: {{{OTHER}: [ml-lab/x]}}\n", OTHER, "anf.other_subscriptions"),
        ("  accounts: [ml-lab/x]\n", FIRST, "anf.accounts"),
    ],
)
def test_classes_name_pools_that_are_read(
    tmp_path: Path, more: str, subscription: str, remedy: str
) -> None:
    line = f"  classes: {{fast: [{subscription}/ml-lab/anf-ml/premium-1]}}\n"
    assert refusal(tmp_path, GOOD + ANF + more + line).partition(": ")[2] == (
        f"anf.classes.fast names a pool of account ml-lab/anf-ml of subscription {subscription},"
        f" which the bot does not read; add the account to {remedy}, or correct the pool."
    )
    assert load(tmp_path, GOOD + ANF + line.replace(subscription, FIRST)).anf is not None


def test_sovereign_clouds_have_their_own_address(tmp_path: Path) -> None:
    found = load(tmp_path, GOOD + ANF + "  endpoint: https://management.usgovcloudapi.net/\n").anf
    assert found is not None
    assert found.endpoint == "https://management.usgovcloudapi.net"
