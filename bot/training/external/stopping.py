"""Requests to stop external workloads; a controller carries them out (`removal`)."""

from datetime import datetime

from sqlmodel import Session

from bot.audit import Actor, record
from bot.errors import ConflictError, NotAllowedError
from bot.people.access import Caller, Right
from bot.reconcile.due import wake
from bot.reconcile.wakeups import cluster_lane
from bot.slack.messages import show_card
from bot.training.external.listing import ExternalWorkload
from bot.training.kinds import ROOTS, root_named
from bot.training.tables import REMOVAL, Removal


def stop_external(
    session: Session, caller: Caller, external: ExternalWorkload, now: datetime
) -> Removal:
    """Stops an external workload; only leads and admins may."""
    if not caller.may(Right.RUN_STOP_ANY):
        raise NotAllowedError(
            f"{external.name} was not started by Quartermaster.",
            "A lead of the team or an admin can stop it.",
        )
    if root_named(external.kind) is None:
        kinds = ", ".join(f"{each.kind}s" for each in ROOTS)
        raise ConflictError(
            f"{external.name} is a {external.kind}; only {kinds} can be stopped from here.",
            f"Use kubectl in namespace {external.namespace}.",
        )
    removal = Removal(
        workspace_id=caller.workspace_id,
        team=caller.team or "",
        person=caller.person,
        channel=caller.channel,
        cluster=external.cluster,
        namespace=external.namespace,
        kind=external.kind,
        job_name=external.name,
        job_uid=external.uid,
        owner=external.owner,
        asked_at=now,
    )
    session.add(removal)
    session.flush()
    facts = {"job": external.name, "uid": external.uid, "owner": external.owner or "unknown"}
    actor = Actor(caller.workspace_id, caller.person, caller.channel, caller.team)
    record(session, actor, "run.stop_stranger", (REMOVAL, removal.id), facts, at=now)
    wake(session, REMOVAL, removal.id, cluster_lane(removal.cluster), now)
    show_card(session, removal.subject, caller.channel, now, live=False, owner=caller.person)
    return removal
