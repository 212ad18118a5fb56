"""The Grafana board, and its queries as Grafana would ask them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import httpx

from tests.bot.cluster.api.api_server import eventually
from tests.deploy.helm_program import CHART

BOARD = CHART / "files" / "quartermaster.json"
# What Grafana puts in for "All", and for a scrape every second.
_VARIABLES = {"$namespace": ".*", "$cluster": ".*", "$team": ".*", "$__rate_interval": "1m"}
_PATIENCE_SECONDS = 60

Panel = Mapping[str, Any]


def board() -> Mapping[str, Any]:
    """The board as Grafana loads it."""
    found: Mapping[str, Any] = json.loads(BOARD.read_text(encoding="utf-8"))
    return found


def panels() -> list[Panel]:
    """Those with queries."""
    return [each for each in board()["panels"] if each["type"] != "row"]


def queries() -> Iterator[tuple[str, str]]:
    """The queries, each with the title of its panel."""
    for panel in panels():
        for target in panel["targets"]:
            query = target["expr"]
            for variable, value in _VARIABLES.items():
                query = query.replace(variable, value)
            yield panel["title"], query


class Asked:
    """A Prometheus at `url` that is asked for all that the board shows."""

    def __init__(self, url: str) -> None:
        self._url = f"{url}/api/v1/query"

    def answer(self, query: str) -> Sequence[Any]:
        """What Prometheus has for a query; an error names it."""
        response = httpx.get(
            self._url, params={"query": query}, trust_env=False, timeout=_PATIENCE_SECONDS
        )
        assert response.status_code == 200, f"{query}: {response.text}"
        found: Sequence[Any] = response.json()["data"]["result"]
        return found

    def until_scraped(self, times: int) -> None:
        """Returns once the bot has been scraped so often."""
        query = f"min(count_over_time(quartermaster_outbox_messages[1h])) >= {times}"
        eventually(lambda: bool(self.answer(query)))

    def empty(self) -> set[str]:
        """The titles of panels with a query that has no answer."""
        return {title for title, query in queries() if not self.answer(query)}


def port_of(url: str) -> str:
    """Host and port of a server, as Prometheus names what it scrapes."""
    return url.partition("://")[2].rstrip("/")
