"""Steps of workflows, begun by their declarations."""

import time
from functools import partial

import structlog

from bot.clock import Clock
from bot.database.database import ACKNOWLEDGE_SECONDS, Database
from bot.services import Services
from bot.slack.grammar.registry import Registry
from bot.slack.receiving.incoming import StepRun

log = structlog.get_logger()


class StepRequests:
    """Begins the steps of workflows that Slack runs."""

    def __init__(
        self, database: Database, clock: Clock, registry: Registry, services: Services
    ) -> None:
        self._database = database
        self._clock = clock
        self._registry = registry
        self._services = services

    def begin(self, run: StepRun) -> None:
        """Begins a step; one that this version does not know is left to Slack."""
        step = self._registry.steps.get(run.callback_id)
        if step is None:
            log.warning("a workflow runs an unknown step", step=run.callback_id)
            return
        begin, now = partial(step.begin, self._services), self._clock.now()
        self._database.transaction(
            lambda session: begin(session, run.execution_id, run.inputs, now),
            deadline=time.monotonic() + ACKNOWLEDGE_SECONDS,
        )
