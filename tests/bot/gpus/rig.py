"""A cluster of whose GPUs a real Prometheus knows what they do."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path

from sqlalchemy import update
from typing_extensions import override

from bot.config import ClusterSettings, PrometheusSettings
from bot.errors import MetricsError
from bot.gpus.amounts import Amounts
from bot.gpus.idle.controller import UseController, look_around
from bot.gpus.minutes import Window, minute_of, moment_of
from bot.gpus.samples.measuring import MeasureController
from bot.gpus.samples.sampling import SampleController, sample_all
from bot.gpus.samples.usage import WindowUsage, use
from bot.reconcile.controller import Controller
from bot.reconcile.loop import Loop
from bot.slack.messages import Message
from bot.training.idle.service import IdlingService
from tests.bot.training.rig import Rig
from tests.prometheus import Scraped, prometheus

REQUESTS, PHASE = "kube_pod_container_resource_requests", "kube_pod_status_phase"
ALLOCATABLE = "kube_node_status_allocatable"
ACTIVE, UTILIZATION = "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_DEV_GPU_UTIL"

_POST_ALL = update(Message).values(ts="1.0")


class Sampled(Rig):
    """A cluster whose GPUs are written down every minute, and what follows from that."""

    @override
    def restart(self) -> None:
        super().restart()
        self.idling = IdlingService(self.settings, self.service.stop_jobs, self.words)
        parts = (self.database, self.clock, self.settings)
        self.measurer = MeasureController(*parts, self.clusters)
        controllers: list[Controller] = [
            self.controller,
            UseController(*parts, self.idling),
            SampleController(*parts, self.clusters, self.engines.of),
            self.measurer,
        ]
        self.loop = Loop(self.database, self.clock, controllers)

    @contextmanager
    def measured(self, folder: Path, scraped: Scraped, *options: str) -> Iterator[None]:
        """A Prometheus that knows what was scraped, while it lasts."""
        with prometheus(folder, scraped, *options) as url:
            self.measured_at(url)
            yield

    def measured_at(self, url: str) -> None:
        cluster = ClusterSettings(prometheus=PrometheusSettings(url=url))
        self.policy = self.policy.model_copy(update={"clusters": {"default": cluster}})

    def look_at(self, moment: datetime, *, is_slack_down: bool = False) -> None:
        """Goes to a moment, looks at the GPUs, and lets come what follows.

        What was said before has been posted by then.
        """
        self.outside.clock.moment = moment
        if not is_slack_down:
            self.do(lambda session: session.connection().execute(_POST_ALL))
        self.do(lambda session: sample_all(self.settings(), session, moment))
        self.run()
        self._catch_up()
        self.do(lambda session: look_around(self.settings(), session, moment))
        self.run()

    def _catch_up(self) -> None:
        """Asks about all minutes that were missed, an hour at a time."""
        is_over = False
        with suppress(MetricsError):
            while not is_over:
                step = self.measurer.step("default")
                self.do(step.save)
                is_over = step.again is None

    def pod_of(self, run_id: str) -> str:
        """The pod of a run, as the cluster has it."""
        job = self.get(run_id).job_name
        names: list[str] = [each["metadata"]["name"] for each in self.world.list("pods", "team-a")]
        return next(name for name in names if name.startswith(f"{job}-"))

    def sample(self, minutes: int = 1) -> None:
        """Lets so many minutes pass, each with its sample."""
        for _ in range(minutes):
            self.do(lambda session: sample_all(self.settings(), session, self.clock.now()))
            self.pass_time(minutes=1)

    def used(self, minutes: int, until: datetime | None = None) -> WindowUsage:
        """What happened in the last minutes that are over, or in those before a moment."""
        ended = moment_of(minute_of(until or self.clock.now()))
        window = Window(ended - timedelta(minutes=minutes), ended)
        return self.do(lambda session: use(session, window))

    def held(self, minutes: int, until: datetime | None = None) -> dict[str, Amounts]:
        """By run, or what others called it, who held GPUs in the last minutes."""
        return self.used(minutes, until).by(lambda series: f"{series.team}/{series.name}")


def idle(scraped: Scraped, pod: str, begun: datetime, hours: float, gpus: int = 2) -> None:
    """A pod whose GPUs do nothing for so long."""
    for gpu in range(gpus):
        labels = {"namespace": "team-a", "pod": pod, "gpu": str(gpu)}
        scraped.add(ACTIVE, labels, (begun, begun + timedelta(hours=hours)), 0)


def requested(scraped: Scraped, pod: str, times: tuple[datetime, datetime], gpus: int = 2) -> None:
    """What kube-state-metrics says of a pod of team-a."""
    names = {"namespace": "team-a", "pod": pod, "uid": f"uid-{pod}"}
    more = {"container": "main", "node": "gpu-1", "resource": "nvidia_com_gpu"}
    scraped.add(REQUESTS, {**names, **more}, times, gpus)
    scraped.add(PHASE, {**names, "phase": "Running"}, times, 1)
    scraped.add(PHASE, {**names, "phase": "Pending"}, times, 0)


def offered(scraped: Scraped, times: tuple[datetime, datetime]) -> None:
    """What kube-state-metrics says of the GPUs of a node."""
    labels = {"node": "gpu-1", "resource": "nvidia_com_gpu", "unit": "integer"}
    scraped.add(ALLOCATABLE, labels, times, 8)
