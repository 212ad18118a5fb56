"""The client of Amazon CloudWatch: each request ends within seconds, without retries."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from bot.config import CloudWatchSettings
from bot.errors import MetricsError
from bot.gpus.minutes import minute_of, moment_of
from bot.gpus.sources.identities import Identities, amazon_keys
from bot.masking import hide_secrets

if TYPE_CHECKING:
    from botocore.exceptions import ClientError
    from mypy_boto3_cloudwatch import CloudWatchClient as Client

_CONNECT_SECONDS, _READ_SECONDS = 3, 10
# For all requests of one query together.
_PATIENCE_SECONDS = 25.0
_MOST_AT_ONCE = 500
_LATELY = timedelta(hours=2)
_THROTTLED_SECONDS = 60.0
_LONGEST_QUOTE = 200
_SETTING = "cloudwatch.credentials"
_BUSY = {"Throttling", "ThrottlingException", "RequestLimitExceeded", "LimitExceeded"}
_REFUSED = {
    "AccessDenied",
    "AccessDeniedException",
    "UnrecognizedClientException",
    "InvalidClientTokenId",
    "SignatureDoesNotMatch",
    "ExpiredToken",
    "ExpiredTokenException",
    "MissingAuthenticationToken",
}


class Metric(NamedTuple):
    """One metric, identified by its dimensions."""

    namespace: str
    name: str
    dimensions: tuple[tuple[str, str], ...]


Values = dict[int, float]


class CloudWatchClient:
    """CloudWatch in one region; `name` is its name in messages."""

    def __init__(self, name: str, settings: CloudWatchSettings, identities: Identities) -> None:
        self._name = name
        self._settings = settings
        self._identities = identities
        self._client: Client | None = None
        self._until = time.monotonic() + _PATIENCE_SECONDS

    def metrics(
        self, namespace: str, name: str, dimensions: Mapping[str, str], since: datetime
    ) -> Iterator[Metric]:
        """Metrics that reported since then and have these dimensions; '' matches any value."""
        filters: list[Any] = [
            {"Name": each, **({"Value": value} if value else {})}
            for each, value in dimensions.items()
        ]
        asked: dict[str, Any] = {"Namespace": namespace, "MetricName": name, "Dimensions": filters}
        if datetime.now(UTC) - since < _LATELY:
            asked["RecentlyActive"] = "PT3H"
        more: dict[str, Any] = {}
        while True:
            with self._asking() as client:
                told = client.list_metrics(**asked, **more)
            for each in told["Metrics"]:
                pairs = ((one["Name"], one["Value"]) for one in each.get("Dimensions", ()))
                yield Metric(namespace, name, tuple(pairs))
            if not told.get("NextToken"):
                return
            more = {"NextToken": told["NextToken"]}

    def averages(self, metrics: Sequence[Metric], minutes: range) -> dict[Metric, Values]:
        """The average of each metric in each of these minutes with a value."""
        found: dict[Metric, Values] = {each: {} for each in metrics}
        wanted = list(found)
        for first in range(0, len(wanted), _MOST_AT_ONCE):
            some = wanted[first : first + _MOST_AT_ONCE]
            for place, minute, value in self._values(some, minutes):
                if minute in minutes:
                    found[some[place]][minute] = value
        return found

    def close(self) -> None:
        """Closes its connections."""
        if self._client is not None:
            self._client.close()

    def _values(
        self, metrics: Sequence[Metric], minutes: range
    ) -> Iterator[tuple[int, int, float]]:
        """The index of a metric, a minute, and the value in it."""
        queries = [_query(place, each) for place, each in enumerate(metrics)]
        more: dict[str, Any] = {}
        while True:
            with self._asking() as client:
                told = client.get_metric_data(
                    MetricDataQueries=queries,
                    StartTime=moment_of(minutes.start),
                    EndTime=moment_of(minutes.stop),
                    ScanBy="TimestampAscending",
                    **more,
                )
            for each in told["MetricDataResults"]:
                if each.get("StatusCode") in {"InternalError", "Forbidden"}:
                    raise MetricsError(f"{self._name} returned {each['StatusCode']}.")
                for moment, value in zip(each["Timestamps"], each["Values"], strict=True):
                    yield int(each["Id"][1:]), minute_of(moment), value
            if not told.get("NextToken"):
                return
            more = {"NextToken": told["NextToken"]}

    def _open(self) -> "Client":
        from botocore.config import Config  # noqa: PLC0415 - as in Identities

        settings = self._settings
        config = Config(
            connect_timeout=_CONNECT_SECONDS,
            read_timeout=_READ_SECONDS,
            # The controller asks again, later each time.
            retries={"mode": "standard", "total_max_attempts": 1},
        )
        keys: dict[str, Any] = amazon_keys(settings.credentials, _SETTING)
        client: Any = self._identities.amazon().create_client(
            "cloudwatch",
            region_name=settings.region,
            endpoint_url=settings.endpoint,
            config=config,
            **keys,
        )
        return cast("Client", client)

    @contextmanager
    def _asking(self) -> "Iterator[Client]":
        """The client; errors of the library become MetricsErrors without secrets."""
        from botocore import exceptions  # noqa: PLC0415 - as in Identities

        if time.monotonic() > self._until:
            raise MetricsError(
                f"{self._name} did not return all data within {_PATIENCE_SECONDS:.0f} s.",
                "Retrying.",
            )
        try:
            if self._client is None:
                self._client = self._open()
            yield self._client
        except exceptions.ClientError as error:
            raise self._refusal(error) from error
        except exceptions.NoCredentialsError as error:
            raise MetricsError(
                "The bot has no AWS keys and no AWS identity of its own.",
                f"A platform admin can give its service account a role or set {_SETTING}.",
            ) from error
        except exceptions.BotoCoreError as error:
            raise MetricsError(
                f"{self._name} does not respond: {type(error).__name__}.",
                "Check cloudwatch.region and cloudwatch.endpoint. Retrying.",
            ) from error

    def _refusal(self, error: "ClientError") -> MetricsError:
        told = error.response.get("Error", {})
        code = str(told.get("Code", "unknown"))
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        if code in _BUSY or status == HTTPStatus.TOO_MANY_REQUESTS:
            words = f"{self._name} rate-limited the bot ({code})."
            return MetricsError(words, "Retrying later.", retry_after_seconds=_THROTTLED_SECONDS)
        if code in _REFUSED or status == HTTPStatus.FORBIDDEN:
            return MetricsError(
                f"{self._name} denied access: {code}.",
                "The bot's AWS identity needs cloudwatch:ListMetrics and"
                " cloudwatch:GetMetricData; docs/gpus.md says how.",
            )
        said = hide_secrets(" ".join(str(told.get("Message", "")).split()))[:_LONGEST_QUOTE]
        return MetricsError(f"{self._name} returned {code}. {said}".rstrip())


def _query(place: int, metric: Metric) -> Any:
    dimensions = [{"Name": name, "Value": value} for name, value in metric.dimensions]
    return {
        "Id": f"m{place}",
        "MetricStat": {
            "Metric": {
                "Namespace": metric.namespace,
                "MetricName": metric.name,
                "Dimensions": dimensions,
            },
            "Period": 60,
            "Stat": "Average",
        },
    }
