"""Tokens are renewed early, and failures are borne as long as the old one is valid."""

from dataclasses import dataclass, field

import pytest

from bot.cluster.api.logins.login import RenewedToken, Token
from bot.errors import ClusterError


@dataclass
class Cloud:
    """Gives tokens that are renewed after 10 and end after 14 minutes, by a clock set by hand."""

    now: float = 1_000_000.0
    is_down: bool = False
    takes_seconds: float = 0.0
    asked_at: list[float] = field(default_factory=list)

    def give(self) -> Token:
        self.asked_at.append(self.now)
        self.now += self.takes_seconds
        if self.is_down:
            raise ClusterError("The cloud is down.", "Wait.", reason="Credentials")
        return Token(f"token-{len(self.asked_at)}", self.now + 600, self.now + 840)

    def minutes(self, count: float) -> None:
        self.now += count * 60


@pytest.fixture
def cloud() -> Cloud:
    return Cloud()


@pytest.fixture
def token(cloud: Cloud) -> RenewedToken:
    return RenewedToken(cloud.give, clock=lambda: cloud.now)


def test_a_token_is_renewed_before_it_ends(cloud: Cloud, token: RenewedToken) -> None:
    seen = []
    for _ in range(5):
        seen.append(token())
        cloud.minutes(4.1)
    assert seen == ["token-1"] * 3 + ["token-2"] * 2


def test_an_outage_shorter_than_the_token_is_unnoticed(cloud: Cloud, token: RenewedToken) -> None:
    token()
    cloud.minutes(10.5)
    cloud.is_down = True
    assert [token(), token()] == ["token-1", "token-1"]
    assert len(cloud.asked_at) == 2  # not asked again at once
    cloud.minutes(1)
    cloud.is_down = False
    assert token() == "token-3"


def test_an_ended_token_is_never_shown(cloud: Cloud, token: RenewedToken) -> None:
    token()
    cloud.is_down = True
    cloud.minutes(14.1)
    for _ in range(2):
        with pytest.raises(ClusterError) as caught:
            token()
        assert (caught.value.message, caught.value.hint) == ("The cloud is down.", "Wait.")
        assert caught.value.reason == "Credentials"
    assert len(cloud.asked_at) == 2
    cloud.minutes(0.2)
    cloud.is_down = False
    assert token() == "token-3"


def test_a_slow_failure_is_not_repeated_at_once(cloud: Cloud, token: RenewedToken) -> None:
    cloud.is_down, cloud.takes_seconds = True, 15.0
    for _ in range(3):
        with pytest.raises(ClusterError):
            token()
    assert len(cloud.asked_at) == 1


def test_a_clock_set_back_delays_no_renewal(cloud: Cloud, token: RenewedToken) -> None:
    cloud.is_down = True
    with pytest.raises(ClusterError):
        token()
    cloud.is_down = False
    cloud.minutes(-60)
    assert token() == "token-2"


def test_tokens_are_not_in_representations() -> None:
    assert "word" not in repr(Token("word"))
