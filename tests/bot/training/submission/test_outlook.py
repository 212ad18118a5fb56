"""A form says what a run would use, when it could start, and what it would cost."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from bot.config import Prices
from bot.slack.card import Reply
from bot.slack.text import as_text
from bot.training.spec import RunSpec
from bot.training.submission.outlook import Outlook, Start, hourly_price, outlook_lines

AT = datetime(2026, 11, 26, 14, tzinfo=UTC)
TWO_NODES = RunSpec(kind="sync", image="lane:3", cpu="16", memory="128Gi", gpus=Decimal(2), nodes=2)
USED = "It would use 2 nodes, each with 2 GPUs, 16 cores and 128Gi memory."


def start(**changes: Decimal | datetime | None) -> Start:
    """Eight GPUs that can be used now, twelve at most, and none who waits."""
    known = {"nominal": Decimal(4), "free": Decimal(8), "most": Decimal(12), "ahead": Decimal(0)}
    return Start(flavor="h100", **{"by": None, **known, **changes})  # type: ignore[arg-type]


def told(begins: Start | None, spec: RunSpec = TWO_NODES, hourly: str | None = None) -> list[str]:
    price = Decimal(hourly) if hourly else None
    outlook = Outlook("team-a", spec, begins, price, "USD", ("Its node has no fabric.",))
    lines = tuple(outlook_lines(outlook, lambda text: f"/{text}"))
    return as_text(Reply(lines)).splitlines()


@pytest.mark.parametrize(
    ("begins", "said"),
    [
        (start(), ["8 GPUs of h100 can be used now, so it can be admitted at once."]),
        (
            start(ahead=Decimal(5)),
            [
                (
                    "8 GPUs of h100 can be used now, and runs that wait already request 5. It"
                    " starts when other runs end."
                )
            ],
        ),
        (
            start(free=Decimal(1), by=AT),
            [
                (
                    "1 GPU of h100 can be used now. It starts when other runs end, at the latest"
                    " 2026-11-26 14:00 UTC."
                )
            ],
        ),
        (
            start(most=Decimal(3), nominal=Decimal(2)),
            [
                (
                    "4 GPUs of h100 is more than team-a can ever have: a nominal quota of 2, and"
                    ' at most 1 borrowed. `/quota request +1 --for 1d --reason "..."` requests 1'
                    " more."
                )
            ],
        ),
        (start(free=None), ["How many GPUs can be used now is unknown."]),
        (None, []),
    ],
)
def test_when_it_could_start_is_said(begins: Start | None, said: list[str]) -> None:
    assert told(begins) == [USED, *said, "Its node has no fabric."]


def test_the_price_is_by_hour_and_limit() -> None:
    limited = RunSpec(image="lane:3", cpu="16", memory="128Gi", time_limit_seconds=5400)
    assert told(None, limited, "8.4")[1] == (
        "It costs 8.40 USD an hour, and at most 12.60 within its time limit."
    )
    assert told(None, TWO_NODES, "8.4")[1] == "It costs 8.40 USD an hour."


def test_an_unknown_price_is_not_guessed() -> None:
    prices = Prices(per_gpu_hour={"h100": Decimal("2.1")})
    assert hourly_price(TWO_NODES, start(), prices) == Decimal("8.4")
    assert hourly_price(TWO_NODES, None, prices) is None
    assert hourly_price(TWO_NODES, start(), Prices()) is None
