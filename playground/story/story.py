"""The API of scenarios: people act, cards are checked, the bot is killed and restarted.

Everything is seen through Slack, as people see it; only what the world outside does (how long
an image trains, that the bot is killed) is said to the world itself.
"""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from playground.arm.estate import Estate
from playground.bucket import Bucket
from playground.cluster.control.training import Training
from playground.cluster.nature import Nature
from playground.cluster.objects.kinds import Object
from playground.fsx.service import Fsx
from playground.mlflow.service import Mlflow
from playground.prometheus.service import Prometheus
from playground.runai.estate import Tenant
from playground.slack.faults import Down
from playground.slack.transcript import Entry
from playground.spelling import closest
from playground.story.context import StoryContext, StoryError
from playground.story.expectations import Words, says_all, spelled
from playground.story.person import Card, Person
from playground.world import World

# What the bot may change in a cluster in any story; the rest a story has to name.
USUAL_WRITES = frozenset({"create jobs", "delete jobs", "patch clusterqueues", "patch queues"})


# A bot that was killed does not know what it asked of Slack in the minute before.
_FORGOTTEN = frozenset(
    {
        ("chat.update", "ratelimited"),
        ("chat.postMessage", "ratelimited"),
        ("views.publish", "hash_conflict"),
    }
)


class Story(StoryContext):
    """One play of a scenario in one world.

    While `unreliable` is set the bot may be killed at any moment: people then repeat what was
    not heard, an answer that only they would have seen may be missing, and so may a reply on a
    state that has passed when the bot returns.
    """

    def __init__(self, world: World, *, unreliable: bool = False) -> None:
        super().__init__(world, unreliable=unreliable)
        self.allowed_refusals: set[tuple[str, str]] = set()
        self._optional: list[Callable[[Entry], bool]] = []
        self.allowed_errors: set[str] = set()
        self.allowed_writes = set(USUAL_WRITES)

    # Who and where

    def person(self, name: str) -> Person:
        """A person by first name."""
        users = {self.world.slack.name_of(each): each for each in self.world.slack.users}
        if name not in users:
            raise StoryError(f"there is no person {name}{closest(name, users)}")
        return Person(self, users[name], name)

    # What is seen

    async def card(self, channel: str, *words: Words) -> Card:
        """Waits for a new message of the bot in a channel, not in a thread, that says this."""
        place = self.channel(channel)

        def fits(entry: Entry) -> bool:
            is_new = entry.channel == place and not entry.viewer and not _is_reply(entry)
            return is_new and says_all(self.expectations.text(entry), words)

        return Card(
            self, await self.sees(fits, f"{channel} shows nothing new with {spelled(words)}")
        )

    async def reply(self, card: Card, *words: Words) -> Card:
        """Waits for a reply of the bot in the thread of a card."""
        wanted = f"the thread has no new reply with {spelled(words)}"
        return Card(self, await self.sees(self._reply_in(card, words), wanted))

    async def passing_reply(self, card: Card, *words: Words) -> None:
        """Waits for a reply on a state that passes; a bot that was dead meanwhile never saw it."""
        if self.unreliable:
            self._optional.append(self._reply_in(card, words))
        else:
            await self.reply(card, *words)

    def _reply_in(self, card: Card, words: tuple[Words, ...]) -> Callable[[Entry], bool]:
        def fits(entry: Entry) -> bool:
            in_thread = entry.thread_ts == card.message.ts and _is_reply(entry)
            return in_thread and says_all(self.expectations.text(entry), words)

        return fits

    def objects(self, plural: str, namespace: str) -> list[str]:
        """The names of all objects of a kind that are in the story's cluster."""
        return [each["metadata"]["name"] for each in self.world.cluster.list(plural, namespace)]

    async def cluster_has(self, plural: str, namespace: str, run: str, *, count: int) -> None:
        """Waits until the cluster has so many objects of a kind that are called after a run."""
        called = re.compile(rf"(?:.*-)?{run}-[0-9a-f]{{10}}(?:-.*)?")

        def found() -> list[str]:
            return [name for name in self.objects(plural, namespace) if called.fullmatch(name)]

        await self.until(
            lambda: len(found()) == count,
            lambda: f"of {run} there should be {count} {plural}, but there are {found()}",
        )

    # What happens outside

    def trains(self, image: str, **behaviour: Any) -> None:
        """Says how runs of an image behave, in fields of `Training`."""
        for cluster in self.world.clusters.values():
            cluster.behaviours[image] = Training(**behaviour)

    @property
    def azure(self) -> Estate:
        """What there is in Azure NetApp Files."""
        if self.world.azure is None:
            self.fail("this scenario has no Azure: Setup(azure=...)")
        return self.world.azure.estate

    def azure_allows(self, subscription: str, actions: list[str]) -> list[str]:
        """Gives the bot's identity these rights in a subscription; what it had before."""
        if self.world.azure is None:
            self.fail("this scenario has no Azure: Setup(azure=...)")
        allowed = self.world.azure.app.routes.permissions_in(subscription)
        was, allowed.actions = allowed.actions, actions
        return was

    @property
    def metrics(self) -> Prometheus:
        """What the GPUs of the story's cluster do, and who looks."""
        if self.world.metrics is None:
            self.fail("this scenario has no Prometheus: Setup(prometheus=True)")
        return next(iter(self.world.metrics.of.values()))

    @property
    def mlflow(self) -> Mlflow:
        """The MLflow server."""
        if self.world.mlflow is None:
            self.fail("this scenario has no MLflow: Setup(mlflow=True)")
        return self.world.mlflow

    @property
    def runai(self) -> Tenant:
        """The tenant of Run:ai that the first cluster with this engine belongs to."""
        if not self.world.runai:
            self.fail("this scenario has no Run:ai: Setup(clusters={'default': 'runai'})")
        return next(iter(self.world.runai.values())).tenant

    @property
    def fsx(self) -> Fsx:
        """What there is in FSx for Lustre."""
        if self.world.fsx is None:
            self.fail("this scenario has no FSx: Setup(bucket=True, fsx=True)")
        return self.world.fsx

    @property
    def bucket(self) -> Bucket:
        """The data in the object store."""
        if self.world.bucket is None:
            self.fail("this scenario has no bucket: Setup(bucket=True)")
        return self.world.bucket

    def files(self, namespace: str, claim: str) -> dict[str, bytes]:
        """What runs see of a cache on a claim: the content of its files by their names."""
        root = self.world.cluster.programs.volume(namespace, claim) / "ready" / "files"
        found = (each for each in sorted(root.rglob("*")) if each.is_file())
        return {each.relative_to(root).as_posix(): each.read_bytes() for each in found}

    @property
    def nature(self) -> Nature:
        """What goes wrong in a cluster without anybody asking for it."""
        return self.world.cluster.nature

    def pod(self, run: str, namespace: str = "team-a") -> Object:
        """The pod of a run that has not ended yet."""
        pods = self.world.cluster.list("pods", namespace)
        named = (each for each in pods if each["metadata"]["name"].startswith(f"{run}-"))
        found = (each for each in named if each["status"]["phase"] not in {"Succeeded", "Failed"})
        return next(found)

    async def pass_time(self, duration: timedelta) -> None:
        """Lives through that much time, one event after another."""
        await self.world.pass_time(duration)

    async def time_leaps(self, duration: timedelta) -> None:
        """That much time passes at once; what the bot should have done meanwhile is then late."""
        await self.world.jump(duration)

    async def bot_is_killed(self) -> None:
        """Kills the bot with SIGKILL, for as long as the story says."""
        await self.world.kill_bot()

    async def bot_stops(self) -> None:
        """Stops the bot as an administrator does; it has to end by itself."""
        code = await self.world.bot.stop()
        if code:
            self.fail(f"the bot ended with exit code {code} on SIGTERM")

    async def bot_returns(self) -> None:
        """Starts the bot again."""
        await self.world.bot.start()

    def cluster_goes_down(self, name: str) -> None:
        """A cluster's API takes no connections any more."""
        self.world.clusters[name].go_down()

    async def cluster_comes_back(self, name: str) -> None:
        """It takes them again."""
        await self.world.clusters[name].come_up()

    def slack_goes_down(self) -> None:
        """Slack answers 503 and drops all connections."""
        self.world.slack.go_down(Down.UNAVAILABLE)

    def slack_comes_back(self) -> None:
        """Slack works again."""
        self.world.slack.come_up()

    # What must not be

    def was_shown_to(self, person: Person, words: str) -> None:
        """Fails if anyone but this person was shown these words."""
        entries = self.world.slack.transcript.entries
        seen = {each.viewer for each in entries if words in self.expectations.text(each)}
        if seen != {person.id}:
            self.fail(f"what only {person.name} may see was shown to {seen}")

    def expects_refusal(self, method: str, error: str) -> None:
        """Slack may refuse this call with this error."""
        self.allowed_refusals.add((method, error))

    async def ends(self) -> None:
        """Lets the bot finish, and fails on anything the story did not expect."""
        await self.rest()
        problems = [*self._unexpected_words(), *self._refusals(), *self._writes(), *self._errors()]
        if problems:
            self.fail("The scenario did not expect this:\n" + "\n".join(problems))

    def _unexpected_words(self) -> list[str]:
        for fits in self._optional:
            self.expectations.take(fits)
        line = self.world.slack.transcript.line
        left = self.expectations.unexpected()
        return [line(entry) for entry in left if not (self.unreliable and entry.viewer)]

    def _refusals(self) -> list[str]:
        slack = self.world.slack
        forgotten = _FORGOTTEN if self.unreliable or self.world.kills else frozenset()
        refused = sorted(set(slack.refusals) - self.allowed_refusals - forgotten)
        listed = [f"Slack was asked for {method}" for method in sorted(set(slack.violations))]
        return [*listed, *(f"Slack refused {method}: {error}" for method, error in refused)]

    def _writes(self) -> list[str]:
        made = {
            request.name
            for request in self.world.ledger.requests
            if request.service == "kubernetes" and request.number is not None
        }
        return [f"the cluster was asked to {name}" for name in sorted(made - self.allowed_writes)]

    def _errors(self) -> list[str]:
        lines = [line for bot in self.world.bots for line in bot.errors()]
        known = self.allowed_errors
        return [f"the bot logged {line}" for line in lines if not any(k in line for k in known)]


def _is_reply(entry: Entry) -> bool:
    return entry.thread_ts not in {None, entry.ts}
