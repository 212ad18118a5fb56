"""The project of a new team."""

import re
from collections.abc import Mapping
from dataclasses import replace

from bot.errors import ConflictError, UsageError
from bot.quotas.engines.engine import Queues
from bot.quotas.engines.runai.objects import NODE_POOLS, PROJECTS
from bot.quotas.engines.runai.runs import QUEUE
from bot.quotas.engines.team_objects import (
    QuotaUnits,
    TeamObject,
    TeamObjects,
    TeamQuota,
    one_of,
)

_USUAL = "default"
_NAME = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")


def settle(asked: TeamQuota, queues: Queues) -> TeamQuota:
    """The request with its node pool and its department; the dry run looks for the department.

    Only departments that have projects are known here. Like Run:ai's own command line, a request
    that names none takes the department `default`.
    """
    if asked.interactive_gpus:
        raise UsageError(
            "`--interactive-gpus` is not possible on Run:ai: each project has its own namespace.",
            "Leave it out. Run:ai's own rules decide which workloads are preempted.",
        )
    if not _NAME.fullmatch(asked.queue):
        raise UsageError(
            f"Run:ai refuses the name {asked.queue} for a project: it must begin with a letter.",
            "Choose another one with `--queue`, for example `--queue team-7`.",
        )
    if not queues.view.store(NODE_POOLS).synced or not queues.view.store(PROJECTS).synced:
        raise ConflictError(
            "The node pools and projects of Run:ai are not read yet.",
            "Try again in a minute. If that does not help, a platform admin runs the doctor.",
        )
    pools = sorted(each.name for each in queues.view.all(NODE_POOLS))
    pool = one_of(asked.gpu_type, pools, "node pool", "--type")
    return replace(asked, gpu_type=pool, above=asked.above or _department(queues))


def make(team: TeamQuota, units: QuotaUnits) -> tuple[TeamObject, ...]:
    """A project with the team's namespace, which may use more while others leave GPUs idle."""
    del units
    spec = {
        "department": team.above,
        "namespace": team.namespace,
        "resources": [{"nodePool": team.gpu_type, "gpus": team.gpus}],
    }
    body = {"metadata": {"name": team.queue}, "spec": spec}
    return (TeamObject(PROJECTS, team.queue, None, body),)


def _department(queues: Queues) -> str:
    records = (each.record for each in queues.view.all(PROJECTS))
    known = sorted({each.parent.name for each in records if each.parent and each.parent.name})
    if not known or _USUAL in known:
        return _USUAL
    return one_of("", known, "department", "--cohort")


def _namespace_labels(team: TeamQuota) -> Mapping[str, str]:
    """Run:ai knows a namespace that it did not create itself by the name of its project."""
    return {QUEUE: team.queue}


RUNAI_TEAMS = TeamObjects(
    settle=settle, make=make, manifests=None, above="department", kinds=(PROJECTS,),
    namespace_labels=_namespace_labels,
)  # fmt: skip
