"""Azure as a world has it: subscriptions, an address, and an identity for the bot."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from playground.arm.app import IDENTITY, ArmApp
from playground.arm.estate import Estate
from playground.ledger import Ledger

# What a GiB of a pool costs a month in the stories.
PRICES = {"Standard": 0.15, "Premium": 0.29, "Ultra": 0.39}


class Azure:
    """Serves the subscriptions once they have an address."""

    def __init__(self, ledger: Ledger, now: Callable[[], datetime]) -> None:
        self.app = ArmApp(ledger, now)
        self.url = ""

    @property
    def estate(self) -> Estate:
        """What there is."""
        return self.app.estate

    def settings(self) -> dict[str, Any]:
        """What the bot is told of it."""
        return {
            "anf": {
                "subscription": self.estate.subscription,
                "endpoint": self.url,
                "price_per_gib_month": PRICES,
            }
        }

    def identity(self) -> dict[str, str]:
        """The environment by which the bot gets its tokens, as App Service sets it."""
        return {
            "IDENTITY_ENDPOINT": f"{self.url}{IDENTITY}",
            "IDENTITY_HEADER": self.app.identity_header,
        }
