"""What can be seen from outside of what must never happen: in the cluster, and in Slack."""

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from bot.cluster.labels import DATASET_CACHE, DATASET_SHARE, INSTALLATION, RUN
from playground.cluster.cluster import Cluster
from playground.slack.people import BOT_USER, Message
from playground.slack.workspace import Workspace
from tests.fuzz.acts import CANARY

BASE = 4
"""What team-a may use when nobody has asked for more."""
LASTS = timedelta(hours=1)
STRANGE = "strange"
_ENDED = ("Succeeded", "Failed", "Stopped", "Lost", "Rejected", "Replaced")

Object = dict[str, Any]


@dataclass
class Outside:
    """The cluster and Slack, with what was seen of them until now."""

    cluster: Cluster
    slack: Workspace
    made: Counter[str] = field(default_factory=Counter)
    """How many Jobs were ever made of each run, by its label."""
    quota_seen: int = BASE
    raised_at: dict[str, datetime] = field(default_factory=dict)
    """When the card of each override was first seen active."""
    taken: list[str] = field(default_factory=list)
    """Runs whose data was deleted while they had not ended."""

    def __post_init__(self) -> None:
        self.cluster.create("jobs", _strange_job(), "team-a")
        self.cluster.create("configmaps", {"metadata": {"name": STRANGE}}, "team-a")
        self._external = self._fingerprint()
        self.cluster.inside.store.listeners.append(self._saw)

    def _saw(self, change: Any) -> None:
        if change.kind == "jobs.batch" and change.before is None:
            run = change.obj["metadata"].get("labels", {}).get(RUN)
            if run:
                self.made[run] += 1
        shows_data = {DATASET_CACHE, DATASET_SHARE} & {*_labels(change.obj)}
        if change.kind == "persistentvolumeclaims" and shows_data:
            is_deleted = change.type == "DELETED" or "deletionTimestamp" in change.obj["metadata"]
            self.taken += self._readers() if is_deleted else []

    def _readers(self) -> list[str]:
        """The runs that read the data or wait for it: all that mount a PVC, and have not ended."""
        store, kind = self.cluster.inside.store, self.cluster.kind("jobs")
        return [
            _labels(job)[RUN]
            for job in store.all(kind, "team-a")
            if RUN in _labels(job) and not _has_ended(job) and _mounts_claims(job)
        ]

    def _fingerprint(self) -> str:
        """What is not ours: all of it that people wrote, not what the cluster notes on it."""
        cluster = self.cluster
        found = [cluster.get(kind, STRANGE, "team-a") for kind in ("jobs", "configmaps")]
        found += [cluster.get("clusterqueues", "team-b"), cluster.get("secrets", "wandb", "team-a")]
        told = [
            {"spec": each.get("spec"), "data": each.get("data"), "labels": _labels(each),
             "uid": each["metadata"]["uid"], "going": each["metadata"].get("deletionTimestamp")}
            for each in found if each is not None
        ]  # fmt: skip
        return json.dumps(told, sort_keys=True)

    def quota(self) -> int:
        """What team-a may use now."""
        queue = self.cluster.get("clusterqueues", "team-a")
        assert queue is not None
        (row,) = [
            row
            for group in queue["spec"]["resourceGroups"]
            for flavor in group["flavors"]
            for row in flavor["resources"]
            if row["name"] == "nvidia.com/gpu"
        ]
        return int(row["nominalQuota"])

    def jobs(self) -> dict[str, Object]:
        """Our Jobs by the run that they are labelled with."""
        found = self.cluster.list("jobs", "team-a")
        return {_labels(job)[RUN]: job for job in found if {INSTALLATION, RUN} <= {*_labels(job)}}

    def messages(self) -> list[Message]:
        """What the bot has posted, all of it."""
        channels = self.slack.channels.values()
        return [
            message
            for channel in channels
            for message in channel.messages
            if message.user == BOT_USER and not message.deleted
        ]

    def cards(self, channel: str, title: str) -> list[str]:
        """The cards in a channel whose title begins with these words, as they read."""
        texts = [
            self.slack.text_of(message)
            for message in self.messages()
            if message.channel == channel and not message.is_reply and not message.viewer
        ]
        # The card of lane is not that of lane#2.
        return [text for text in texts if re.match(rf"\W*{re.escape(title)}(?![\w#-])", text)]

    # What must never be, at any moment

    def wrong_now(self) -> str:
        """What is wrong whatever is under way; empty where nothing is."""
        twice = [run for run, many in self.made.items() if many > 1]
        if twice:
            return f"two Jobs of one run: {twice}"
        if self.taken:
            return f"data was evicted that runs use: {self.taken}"
        if self._fingerprint() != self._external:
            return f"an object of somebody else was touched: {self._fingerprint()}"
        marks = Counter(json.dumps(m.metadata) for m in self.messages() if m.metadata)
        doubled = [mark for mark, many in marks.items() if many > 1]
        if doubled:
            return f"a message stands twice: {doubled}"
        for message in self.messages():
            if CANARY in json.dumps(message.as_json()):
                return f"a secret is shown: {message.text}"
        return ""

    # What must be once all is quiet

    def wrong_at_rest(self, now: datetime) -> str:
        """Which card says other than what is so; empty where none does."""
        return self._wrong_run() or self._wrong_quota(now)

    def _wrong_run(self) -> str:
        jobs = self.jobs()
        for message in self.messages():
            run = _run_of(message)
            if run is None or message.is_reply:
                continue
            state = self._state(message)
            wrong = _wrong_state(state, jobs.get(run), is_made=bool(self.made[run]))
            if wrong:
                return f"the card of {run} says {state!r}: {wrong}"
        return ""

    def _state(self, message: Message) -> str:
        first = self.slack.text_of(message).splitlines()[0]
        return first.partition(" · ")[2]

    def _wrong_quota(self, now: datetime) -> str:
        active = [
            message
            for message in self.messages()
            if message.channel == "C0APPROVE" and not message.is_reply
            and self._state(message).startswith("Active")
        ]  # fmt: skip
        for message in active:
            begun = self.raised_at.setdefault(message.ts, now)
            if now > begun + LASTS:
                return f"an override is active since {begun}, and it is {now}"
        raised = BASE + 2 * len(active)
        return "" if self.quota() == raised else f"the quota is {self.quota()}, cards say {raised}"


def _wrong_state(state: str, job: Object | None, *, is_made: bool) -> str:
    has_ended = state.startswith(_ENDED)
    if job is None:
        return "" if has_ended else f"it has no Job{' any more' if is_made else ''}"
    kinds = {row["type"]: row["status"] == "True" for row in job["status"].get("conditions", ())}
    if kinds.get("Complete"):
        return "" if state.startswith("Succeeded") else "its Job is complete"
    if kinds.get("Failed"):
        return "" if state.startswith("Failed") else "its Job has failed"
    if has_ended:
        return "its Job is there"
    is_waiting = bool(job["spec"].get("suspend"))
    if is_waiting and state.startswith("Running"):
        return "its Job is suspended"
    if job["status"].get("ready") and not state.startswith(("Running", "Stopping")):
        return "its pod runs"
    return ""


def _run_of(message: Message) -> str | None:
    """The run that a card's buttons are about."""
    for block in message.blocks:
        for element in block.get("elements", ()):
            if element.get("action_id", "").startswith(("train.logs", "train.stop", "train.resub")):
                return str(element["value"])
    return None


def _has_ended(job: Object) -> bool:
    rows = job.get("status", {}).get("conditions", ())
    return any(row["type"] in {"Complete", "Failed"} and row["status"] == "True" for row in rows)


def _mounts_claims(job: Object) -> bool:
    volumes = job["spec"]["template"]["spec"].get("volumes", ())
    return any("persistentVolumeClaim" in each for each in volumes)


def _labels(obj: Object) -> dict[str, str]:
    return dict(obj["metadata"].get("labels") or {})


def _strange_job() -> Object:
    container = {"name": "main", "image": "busybox:1", "command": ["sleep", "infinity"]}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    return {"metadata": {"name": STRANGE}, "spec": {"template": template, "suspend": True}}
