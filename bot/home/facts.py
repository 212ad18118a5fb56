"""What Home tabs are made from, read once for all people whose tabs are open."""

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import structlog

from bot.approvals import Approval
from bot.config import RunLink
from bot.database.database import Session
from bot.datasets.caches.tables import Cache
from bot.gpus.status import ClusterStatus
from bot.notices import NoticeKind, Way, ways_of_people
from bot.people.people import name_of
from bot.quotas.status import TeamStatus
from bot.services import Services
from bot.slack.card import Card, Tone
from bot.slack.messages import Renderer
from bot.training.runs.personal import EndedRun, TeamRuns
from bot.training.tables import Run

log = structlog.get_logger()

_NOWHERE = "home"
"""A channel of no team: a card there is the one that approvers see."""


@dataclass(frozen=True)
class OpenRequest:
    """A pending request for approval, as its approvers see it, and who of them has not voted."""

    approval: Approval
    card: Card
    deciders: frozenset[str]


@dataclass(frozen=True)
class IdleGpus:
    """A workload of a person whose GPUs have all been idle since a moment."""

    name: str
    team: str
    since: datetime


@dataclass(frozen=True)
class PlatformFacts:
    """How the bot itself is, in one line, and the GPUs of each cluster as last sampled."""

    status: str = ""
    clusters: Sequence[ClusterStatus] = ()


@dataclass(frozen=True)
class HomeFacts:
    """The state of everything that Home tabs show.

    `live` and `ended` are runs by person, `stoppers` who stopped a run by the id of the run, and
    `idle` since when the GPUs of a run have been idle. `others_idle` are workloads by person that
    the bot did not start. `links` are those that runs may have.
    """

    now: datetime
    live: Mapping[str, Sequence[Run]] = field(default_factory=dict)
    ended: Mapping[str, Sequence[EndedRun]] = field(default_factory=dict)
    stoppers: Mapping[str, str] = field(default_factory=dict)
    idle: Mapping[str, datetime] = field(default_factory=dict)
    others_idle: Mapping[str, Sequence[IdleGpus]] = field(default_factory=dict)
    runs: Mapping[str, TeamRuns] = field(default_factory=dict)
    quotas: Mapping[str, Sequence[TeamStatus]] = field(default_factory=dict)
    requests: Sequence[OpenRequest] = ()
    leaving: Sequence[Cache] = ()
    ways: Mapping[str, Mapping[NoticeKind, Way]] = field(default_factory=dict)
    links: Sequence[RunLink] = ()
    platform: PlatformFacts = PlatformFacts()


@dataclass(frozen=True)
class HomeScope:
    """Whose tabs the facts are for, and their teams.

    `has_heads` says whether leads or admins are among them; `platform` is for admins.
    """

    people: Collection[str]
    teams: Collection[str]
    has_heads: bool = True
    platform: PlatformFacts = PlatformFacts()


def gather(
    services: Services,
    renderers: Mapping[str, Renderer],
    session: Session,
    scope: HomeScope,
    now: datetime,
) -> HomeFacts:
    """What the tabs of these people may show; who sees what of it is decided later."""
    people, personal = scope.people, services.training.personal
    live = personal.live(session, people)
    runs = [run for some in live.values() for run in some]
    idle, others = _idle(services, session, now)
    quotas: dict[str, list[TeamStatus]] = {}
    for each in services.quotas.service.status(session, scope.teams):
        quotas.setdefault(each.team, []).append(each)
    return HomeFacts(
        now=now,
        live=live,
        ended={who: personal.ended(session, who) for who in people},
        stoppers={
            run.id: name_of(session, run.workspace_id, run.stop_by)
            for run in runs
            if run.stop_at and run.stop_by
        },
        idle=idle,
        others_idle=others,
        runs=personal.of_teams(session) if scope.has_heads else {},
        quotas=quotas,
        requests=_requests(services, renderers, session),
        leaving=services.datasets.keeping.leaving(session),
        ways=ways_of_people(session, services.settings().workspace, people),
        links=services.settings().training.links,
        platform=scope.platform,
    )


def _idle(
    services: Services, session: Session, now: datetime
) -> tuple[dict[str, datetime], dict[str, list[IdleGpus]]]:
    runs: dict[str, datetime] = {}
    others: dict[str, list[IdleGpus]] = {}
    for each in services.gpus.usage.idle(session, None, now):
        who = each.who
        if who.run_id:
            runs[who.run_id] = max(each.since, runs.get(who.run_id, each.since))
        elif who.person:
            found = IdleGpus(who.name, who.team, each.since)
            others.setdefault(who.person, []).append(found)
    return runs, others


def _requests(
    services: Services, renderers: Mapping[str, Renderer], session: Session
) -> list[OpenRequest]:
    return [
        OpenRequest(
            approval,
            _card(renderers, session, approval),
            frozenset(services.approvals.deciders(session, approval)),
        )
        for approval in services.approvals.waiting(session)
    ]


def _card(renderers: Mapping[str, Renderer], session: Session, approval: Approval) -> Card:
    """The request's card; a plain one for a subject that cannot be rendered."""
    plainly = Card(title=approval.reason or approval.subject_kind, tone=Tone.WAITING)
    renderer = renderers.get(approval.subject_kind)
    try:
        card = renderer.card(session, approval.subject_id, _NOWHERE) if renderer else None
    except Exception as error:  # logged
        reference = secrets.token_hex(3)
        log.error(  # noqa: TRY400  # with its traceback below
            "a request could not be rendered", reference=reference, exc_info=error
        )
        return plainly
    return card or plainly
