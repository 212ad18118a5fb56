"""Amazon CloudWatch as moto plays it, on loopback."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import Request, urlopen

import boto3
from moto.moto_server.threaded_moto_server import ThreadedMotoServer

from bot.config import CloudWatchSettings

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient
    from mypy_boto3_cloudwatch.type_defs import DimensionTypeDef, MetricDatumTypeDef

CLUSTER, REGION = "ml-prod", "eu-central-1"
_MINUTE = timedelta(minutes=1)
_MOST = 100


class CloudWatchPlayed:
    """What agents of a cluster have told CloudWatch."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        keys = folder / "keys"
        keys.mkdir()
        (keys / "access-key-id").write_text("AKIDEXAMPLE")
        (keys / "secret-access-key").write_text("a-secret-of-some-length")
        self.settings = CloudWatchSettings(
            region=REGION, cluster_name=CLUSTER, endpoint=url, credentials=str(keys)
        )
        self._client: CloudWatchClient = boto3.client(
            "cloudwatch",
            endpoint_url=url,
            region_name=REGION,
            aws_access_key_id="AKIDEXAMPLE",
            aws_secret_access_key="of the agents",  # noqa: S106 - anything will do
        )

    def close(self) -> None:
        """Gives its connections back."""
        self._client.close()

    def reports(
        self,
        metrics: Mapping[str, float],
        dimensions: Mapping[str, str],
        times: tuple[datetime, datetime],
    ) -> None:
        """Values of metrics for every minute of `times`."""
        begun, ended = times
        namespace = "CWAgent" if "InstanceId" in dimensions else "ContainerInsights"
        dims: list[DimensionTypeDef] = [
            {"Name": name, "Value": value} for name, value in dimensions.items()
        ]
        minutes = [begun + each * _MINUTE for each in range(int((ended - begun) / _MINUTE))]
        data: list[MetricDatumTypeDef] = [
            {"MetricName": name, "Dimensions": dims, "Timestamp": at, "Value": value}
            for name, value in metrics.items()
            for at in minutes
        ]
        for first in range(0, len(data), _MOST):
            self._client.put_metric_data(
                Namespace=namespace, MetricData=data[first : first + _MOST]
            )

    def pod(
        self,
        pod: str,
        device: str,
        times: tuple[datetime, datetime],
        figures: tuple[float, float, float],
        cluster: str = CLUSTER,
    ) -> None:
        """What Container Insights says of a GPU of a pod of team-a: percent, MiB used and in all.

        It says so of the pod as a whole, too.
        """
        percent, used, total = figures
        metrics = {
            "pod_gpu_utilization": percent,
            "pod_gpu_memory_used": used * 2**20,
            "pod_gpu_memory_total": total * 2**20,
        }
        whole = {"ClusterName": cluster, "Namespace": "team-a", "PodName": "x", "FullPodName": pod}
        self.reports(metrics, whole, times)
        self.reports(metrics, {**whole, "GpuDevice": device}, times)

    def instance(
        self, instance: str, index: int, times: tuple[datetime, datetime], percent: float
    ) -> None:
        """What the CloudWatch agent says of a GPU of an instance."""
        metrics = {
            "nvidia_smi_utilization_gpu": percent,
            "nvidia_smi_memory_used": 1_000.0,
            "nvidia_smi_memory_total": 80_000.0,
        }
        more = {"index": f"{index}", "name": "NVIDIA H100", "arch": "Hopper", "host": "ip-10-0-0-1"}
        self.reports(metrics, {"InstanceId": instance, **more}, times)

    def ask_for_rights(self, *, after: str = "0") -> None:
        """Nobody is let in whom it does not know, after so many requests."""
        self._tell("reset-auth", after.encode())

    def forget(self) -> None:
        """Empties it."""
        self.ask_for_rights(after="inf")
        self._tell("reset", b"")

    def _tell(self, what: str, word: bytes) -> None:
        content = {"Content-Type": "text/plain"}
        urlopen(Request(f"{self.url}/moto-api/{what}", word, content), timeout=30).close()


@contextmanager
def cloudwatch(folder: Path) -> Iterator[CloudWatchPlayed]:
    """One that is empty, while the block lasts."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    try:
        played = CloudWatchPlayed(f"http://{host}:{port}", folder)
        played.forget()
        yield played
        played.forget()
        played.close()
    finally:
        server.stop()
