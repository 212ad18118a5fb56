"""A run of every kind at the same time, taken from phase to phase by what holds them all there.

Kueue that is away keeps runs from being made, no quota keeps them waiting, nodes that take no pods
keep them creating, and a finalizer keeps them from going. No operators run here: what they would
write into the objects of their kinds is written in their place.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from bot.cluster import labels
from playground.cluster.story import cluster_queue
from playground.settings import Setup
from playground.story.person import Card
from playground.story.story import Story
from tests.cluster.api import Api, Object, wait_for
from tests.cluster.scenery import RUNTIMES, runtime
from tests.cluster.site import CLUSTER_QUEUES, JOBS, WORKLOADS, Site

TEAM, IMAGE, PART = "team-a", "ghcr.io/acme/fleet", "nvidia.com/mig-3g.40gb"
MPIJOBS, PYTORCHJOBS = "mpijobs.kubeflow.org", "pytorchjobs.kubeflow.org"
TRAINJOBS = "trainjobs.trainer.kubeflow.org"
CLAIMS, INGRESSES = "persistentvolumeclaims", "ingresses.networking.k8s.io"
ROOTS = (JOBS, MPIJOBS, PYTORCHJOBS, TRAINJOBS)
BESIDE = ("services", "secrets", INGRESSES, CLAIMS)
OURS = (*ROOTS, *BESIDE, "pods")
HOURS = 3
# Slack takes a post a second in each channel.
CHANNELS = ("#team-a", "#gpu-daily")
_GPUS, _HELD = "14", "quartermaster.test/held"
_CLUSTER = {
    "ingress": {"host": "ml.example.com", "class_name": "nginx"},
    "fractions": {"sizes": {"0.5": PART}},
}
SETUP = Setup(
    settings={
        "clusters": {"default": _CLUSTER},
        "teams": {TEAM: {"channels": ["C0TEAMA", "C0DAILY"]}},
    }
)


@dataclass(frozen=True)
class Sort:
    """How a run of one kind is asked for, what it is made of, and what is made beside it."""

    name: str
    options: str
    root: str = JOBS
    beside: tuple[str, ...] = ()
    pods: int = 1
    command: str = "-- python train.py"


SORTS = (
    Sort("job", "--gpus 1 --pvc standard:10Gi:/mnt", beside=(CLAIMS,)),
    Sort("part", "--gpus 0.5"),
    Sort(
        *("nb", "--kind interactive --time 8h --gpus 1"),
        beside=("secrets", "services", INGRESSES),
        command="",
    ),
    Sort("sync", "--kind sync --nodes 2 --gpus 1", beside=("secrets", "services"), pods=2),
    Sort("nccl", "--kind nccl --nodes 2 --gpus 1", beside=("secrets", "services"), pods=2),
    Sort("wide", "--kind elastic --nodes 1:2 --gpus 1", beside=("services",), pods=2),
    Sort("mpi", "--kind mpi --nodes 2 --gpus 1", MPIJOBS, beside=("secrets",), pods=0),
    Sort("torch", "--kind elastic --form pytorchjob --nodes 1:2 --gpus 1", PYTORCHJOBS, pods=0),
    Sort("trainer", "--kind elastic --form trainjob --nodes 2 --gpus 1", TRAINJOBS, pods=0),
)
WRITES = frozenset(
    f"{verb} {resource.partition('.')[0]}"
    for verb in ("create", "delete")
    for each in SORTS
    for resource in (each.root, *each.beside)
)


def furnish(site: Site) -> None:
    """Adds what a fleet sails on: two nodes, a team with room for all of it, and a runtime."""
    for name in ("gpu-1", "gpu-2"):
        site.add_node(name, more={PART: "1"})
    site.add_flavor()
    site.add_namespace(TEAM)
    site.add_queue(_queue(_GPUS, "1"))
    site.let_bot_into(TEAM)
    site.add(RUNTIMES, runtime("torch-distributed"))


@dataclass
class Fleet:
    """The runs of Alice, and what holds them; nothing here waits for Slack but what says so."""

    story: Story
    api: Api
    sorts: Sequence[Sort] = SORTS
    cards: dict[str, Card] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.story.allowed_writes |= WRITES
        self.story.trains(IMAGE, seconds_per_epoch=HOURS * 3600)
        self._alice = self.story.person("Alice")

    async def is_asked_for(self, more: str = "") -> None:
        """Submits all of them; each is acknowledged."""
        for channel, sort in self._placed():
            command = f"{sort.options} {more} --image {IMAGE}:1.0 {sort.command}"
            await self._alice.types(channel, f"/train submit {sort.name} {command}")
        for sort in self.sorts:
            await self._alice.is_told(f"Submitted run {sort.name} with")

    async def has_cards(self) -> None:
        """Waits for their cards, in Slack."""
        for channel, sort in self._placed():
            self.cards[sort.name] = await self.story.card(channel, sort.name)

    async def is_stopped(self, by: str = "Alice") -> None:
        """Has all of them stopped; each stop is acknowledged."""
        person = self.story.person(by)
        for channel, sort in self._placed():
            await person.types(channel, f"/train stop {sort.name}")
        for sort in self.sorts:
            await person.is_told(f"Stopping {sort.name}")

    async def is_scaled(self, name: str, *, nodes: int) -> None:
        """Gives one of them so many nodes, and waits until its card says so."""
        self.story.allowed_writes.add("patch jobs")
        channel = next(channel for channel, sort in self._placed() if sort.name == name)
        count = f"{nodes} node{'' if nodes == 1 else 's'}"
        await self._alice.types(channel, f"/train scale {name} {nodes}")
        await self._alice.is_told(f"Scaling {name} to {count}. Its card shows the progress.")
        await self.cards[name].shows(f"{nodes} of {count}")

    async def shows(self, *words: str) -> None:
        """Waits until all cards show these words, in Slack."""
        for card in self.cards.values():
            await card.shows(*words)

    async def has_ended(self, state: str, *mention: str, is_bad: bool = False) -> None:
        """Waits until all cards show an end, in Slack, and Alice was told of each once."""
        for channel, sort in self._placed():
            card, told = self.cards[sort.name], f"{sort.name} {mention[0]}"
            await card.shows(state)
            await self._alice.is_mentioned(
                channel, told, *mention[1:], thread=card, broadcast=is_bad
            )

    async def is_admitted(self) -> None:
        """Waits for the replies that say so, in Slack."""
        for card in self.cards.values():
            await self.story.reply(card, "Admitted after")

    async def gets_quota(self, *, enough: bool) -> None:
        """Gives the team quota for all of them, or none."""
        body = _queue(_GPUS, "1") if enough else _queue("0", "0")
        await self._do(self.api.patch, CLUSTER_QUEUES, TEAM, {"spec": body["spec"]})

    async def gets_nodes(self, *, open_: bool) -> None:
        """Lets pods onto the nodes, or no more of them."""
        for name in ("gpu-1", "gpu-2"):
            await self._do(self.api.patch, "nodes", name, {"spec": {"unschedulable": not open_}})

    async def waits_for_quota(self) -> None:
        """Waits until Kueue has a Workload of each, none of which is admitted without quota."""
        await self._until(lambda: len(self.api.list(WORKLOADS, TEAM)) == self.count)

    async def has_quota(self) -> None:
        """Waits until Kueue has admitted all, and the pods there are have no place."""
        await self._until(lambda: len(self._admitted()) == self.count)
        await self._until(lambda: len(self._pods("Pending")) == sum(e.pods for e in self.sorts))

    async def runs(self) -> None:
        """Waits until all pods run, once the operators' objects say that theirs do."""
        await self._operators_say("Running", "Running")
        await self._until(lambda: len(self._pods("Running")) == sum(e.pods for e in self.sorts))

    async def operators_end(self) -> None:
        """The operators' objects say that they have succeeded."""
        await self._operators_say("Succeeded", "Complete")

    async def is_kept(self) -> None:
        """Keeps roots that are deleted in the cluster until they are let go."""
        await self._do(_keep, self.api, [_HELD])

    async def is_let_go(self) -> None:
        """Keeps them no more."""
        await self._do(let_go, self.api)

    async def is_leaving(self) -> None:
        """Waits until all roots are being deleted."""
        await self._until(lambda: all("deletionTimestamp" in m for m in self._roots()))

    @property
    def whole(self) -> dict[str, int]:
        """How many objects there are of all runs while they run, by plural."""
        made = (resource for each in self.sorts for resource in (each.root, *each.beside))
        counts = Counter(resource.partition(".")[0] for resource in made)
        pods = sum(each.pods for each in self.sorts)
        return {**counts, "pods": pods, "workloads": self.count}

    async def leaves(self, **expected: int) -> None:
        """Waits until no other objects are labelled as a run's, by plural."""
        try:
            await self._until(lambda: self.left() == expected)
        except AssertionError:
            self.story.fail(f"{expected} should be left, not {self.left()}")

    def left(self) -> dict[str, int]:
        """How many objects are labelled as a run's, by plural; pods that succeeded do not count."""
        counts = {each: len(self._labelled(each)) for each in OURS}
        counts["pods"] -= len(self._pods("Succeeded"))
        counts[WORKLOADS] = len(self.api.list(WORKLOADS, TEAM))
        return {each.partition(".")[0]: count for each, count in counts.items() if count}

    @property
    def count(self) -> int:
        """How many runs there are."""
        return len(self.sorts)

    async def _do(self, call: Any, *arguments: Any) -> Any:
        return await asyncio.to_thread(call, *arguments)

    async def _until(self, look: Any) -> None:
        await asyncio.to_thread(wait_for, look, "the fleet")

    def _placed(self) -> Iterable[tuple[str, Sort]]:
        """Each with the channel it is asked for in."""
        return [(CHANNELS[i % len(CHANNELS)], sort) for i, sort in enumerate(self.sorts)]

    def _labelled(self, resource: str) -> list[Object]:
        return self.api.list(resource, TEAM, labelSelector=labels.RUN)

    def _roots(self) -> list[Object]:
        return [each["metadata"] for root in ROOTS for each in self._labelled(root)]

    def _pods(self, phase: str) -> list[Object]:
        return [each for each in self._labelled("pods") if each["status"].get("phase") == phase]

    def _admitted(self) -> list[Object]:
        def fits(each: Object) -> bool:
            told = each.get("status", {}).get("conditions", ())
            return any(c["type"] == "Admitted" and c["status"] == "True" for c in told)

        return [each for each in self.api.list(WORKLOADS, TEAM) if fits(each)]

    async def _operators_say(self, kubeflow: str, trainer: str) -> None:
        nodes = {"active": 2, "failed": 0, "ready": 2, "succeeded": 0, "suspended": 0}
        for resource in (MPIJOBS, PYTORCHJOBS, TRAINJOBS):
            is_trainer = resource == TRAINJOBS
            status: Object = {"conditions": [_condition(trainer if is_trainer else kubeflow)]}
            if is_trainer:
                status["jobsStatus"] = [{"name": "node", **nodes}]
            for each in await self._do(self.api.list, resource, TEAM):
                name = each["metadata"]["name"]
                await self._do(self.api.patch, resource, name, {"status": status}, TEAM, "status")


def let_go(api: Api) -> None:
    """Lets go of roots that a fleet kept in the cluster."""
    _keep(api, None)


def _keep(api: Api, finalizers: list[str] | None) -> None:
    for resource in ROOTS:
        for each in api.list(resource, TEAM):
            change = {"metadata": {"finalizers": finalizers}}
            api.patch(resource, each["metadata"]["name"], change, TEAM)


def _queue(gpus: str, parts: str) -> Object:
    """The team's ClusterQueue, which counts parts of GPUs beside whole ones."""
    body = cluster_queue(TEAM, gpus)
    (group,) = body["spec"]["resourceGroups"]
    group["coveredResources"].append(PART)
    group["flavors"][0]["resources"].append({"name": PART, "nominalQuota": parts})
    return body


def _condition(kind: str) -> Object:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    said = {"type": kind, "status": "True", "reason": kind, "message": f"It is {kind}."}
    return {**said, "lastTransitionTime": now}
