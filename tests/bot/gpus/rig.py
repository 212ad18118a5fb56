"""Sessions whose GPUs a real Prometheus knows of."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

from sqlalchemy import update
from typing_extensions import override

from bot.config import ClusterSettings, PrometheusSettings
from bot.controller import Controller, Loop
from bot.gpus.amounts import Amounts
from bot.gpus.controller import UseController, look_around
from bot.gpus.measuring import MeasureController
from bot.gpus.sampling import SampleController, sample_all
from bot.gpus.usage import Use, Window, use
from bot.slack.messages import Message
from bot.training.idling import IdlingService
from tests.bot.training.rig import Rig
from tests.prometheus import Scraped, prometheus

ACTIVE, UTILIZATION = "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_DEV_GPU_UTIL"

_POST_ALL = update(Message).values(ts="1.0")


class Watched(Rig):
    """Training, and what looks at its GPUs."""

    @override
    def restart(self) -> None:
        super().restart()
        self.idling = IdlingService(self.settings, self.service.stop_jobs, self.words)
        parts = (self.database, self.clock, self.settings)
        self.uses = UseController(*parts, self.idling)
        self.loop = Loop(self.database, self.clock, [self.controller, self.uses])

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
        self.do(lambda session: look_around(self.settings(), session, moment))
        self.run()

    def pod_of(self, run_id: str) -> str:
        """The pod of a run, as the cluster has it."""
        job = self.get(run_id).job_name
        names: list[str] = [each["metadata"]["name"] for each in self.world.list("pods", "team-a")]
        return next(name for name in names if name.startswith(f"{job}-"))


def idle(scraped: Scraped, pod: str, begun: datetime, hours: float, gpus: int = 2) -> None:
    """A pod whose GPUs do nothing for so long."""
    for gpu in range(gpus):
        labels = {"namespace": "team-a", "pod": pod, "gpu": str(gpu)}
        scraped.add(ACTIVE, labels, (begun, begun + timedelta(hours=hours)), 0)


class Sampled(Watched):
    """A cluster whose GPUs are written down every minute."""

    @override
    def restart(self) -> None:
        super().restart()
        parts = (self.database, self.clock, self.settings, self.clusters)
        sampler = SampleController(*parts, self.engines.of)
        controllers: list[Controller] = [
            self.controller,
            self.uses,
            sampler,
            MeasureController(*parts),
        ]
        self.loop = Loop(self.database, self.clock, controllers)

    def sample(self, minutes: int = 1) -> None:
        """Lets so many minutes pass, each with its sample."""
        for _ in range(minutes):
            self.do(lambda session: sample_all(self.settings(), session, self.clock.now()))
            self.pass_time(minutes=1)

    def used(self, minutes: int, until: datetime | None = None) -> Use:
        """What happened in the last minutes."""
        ended = until or self.clock.now()
        window = Window(ended - timedelta(minutes=minutes), ended)
        return self.do(lambda session: use(session, window))

    def held(self, minutes: int, until: datetime | None = None) -> dict[str, Amounts]:
        """By run, or what others called it, who held GPUs in the last minutes."""
        return self.used(minutes, until).by(lambda series: f"{series.team}/{series.name}")
