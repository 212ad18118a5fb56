"""The bot as deploy/ runs it: a pod of its own image, with the rights and the volume of deploy/."""

import asyncio
import contextlib
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import yaml
from typing_extensions import override

from playground.bot_process import BotProcess, Pulse
from playground.bucket import KEYS, LAKE
from playground.settings import Setup, merged
from playground.world import World
from tests.cluster.api import ApiError, Object, wait_for
from tests.cluster.bots import PlaneStory, opened_world, told
from tests.cluster.control_plane import ControlPlane
from tests.cluster.rights import BOT, DEPLOYED, deployed
from tests.node.bot_image import NAME
from tests.node.forward import forwarded
from tests.node.telling import live_in_real_time

_CONFIGURATION, _BOT = "30-configuration.yaml", "40-bot.yaml"
_FILE, _SECRETS = "quartermaster.yaml", "/run/secrets/quartermaster"
_OURS = ("database", "http")  # what deploy/ says of the pod itself
_NOT_HERE = ("playground", "clock", "database", "http", "clusters")
_ORDER = ("deployments.apps", "configmaps", "secrets", "services", "persistentvolumeclaims")
_OUTBOX, _LAG = "quartermaster_outbox_messages ", "quartermaster_due_lag_seconds{"
_START_SECONDS, _COMMAND_SECONDS = 180.0, 120.0


@dataclass(kw_only=True)
class BotInPod(BotProcess):
    """The Deployment of deploy/ in the place of a process; `settings` are the story's own.

    `keys` are those of the object store, which lie beside the tokens.
    """

    plane: ControlPlane
    settings: Mapping[str, Any]
    storage_class: str
    keys: Mapping[str, str]
    _is_wanted: bool = False

    @property
    @override
    def is_running(self) -> bool:
        return self._is_wanted

    @override
    async def migrate(self) -> None:
        """Nothing: the pod does so before it starts."""

    @override
    async def start(self) -> None:
        self._is_wanted = True
        await asyncio.to_thread(self._deploy)
        await asyncio.to_thread(self.wait)
        self._was_ready = True

    @override
    async def stop(self) -> int | None:
        self._keep_log()
        self._is_wanted = self._was_ready = False
        self.plane.api.patch("deployments.apps", BOT, {"spec": {"replicas": 0}}, BOT)
        await asyncio.to_thread(wait_for, self._has_no_pods, "the end of the bot's pod")
        return 0

    @override
    async def kill(self) -> None:
        if self._is_wanted:
            await self.stop()

    @override
    async def close(self) -> None:
        await super().close()
        for resource in _ORDER:
            self.plane.api.delete(resource, "", BOT)
        await asyncio.to_thread(wait_for, self._is_gone, "the end of the bot's volume")

    @override
    async def pulse(self) -> Pulse | None:
        """Quiet when nothing is overdue and no message unsent; in production it says no more."""
        page = await asyncio.to_thread(self._metrics)
        lines = page.splitlines()
        late = [line for line in lines if line.startswith((_OUTBOX, _LAG))]
        is_quiet = bool(late) and all(float(line.rpartition(" ")[2]) == 0 for line in late)
        return Pulse(is_quiet, None, 0.0)

    @override
    def errors(self) -> list[str]:
        self._keep_log()
        return super().errors()

    @override
    def log_tail(self, lines: int = 15) -> str:
        self._keep_log()
        return super().log_tail(lines)

    def pods(self) -> list[Object]:
        """Its pods, with those on their way out."""
        return self.plane.api.list("pods", BOT)

    def wait(self) -> Object:
        """Its pod, once there is one alone and that is ready."""
        try:
            pod = wait_for(self._ready_pod, "the bot's pod", _START_SECONDS)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self._told()}") from None
        assert pod is not None
        return pod

    def roll_out(self) -> None:
        """What `kubectl rollout restart` does; returns when the next pod is ready."""
        self._keep_log()
        before = self.wait()["metadata"]["uid"]
        note = {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": before}}}
        self.plane.api.patch("deployments.apps", BOT, {"spec": {"template": note}}, BOT)
        wait_for(lambda: self.wait()["metadata"]["uid"] != before, "the rollout")

    def run(self, command: str) -> str:
        """What a command of the bot says in its pod, as deploy/README.md has people run it."""
        place = ("-n", BOT, "exec", f"deploy/{BOT}", "-c", "bot", "--")
        told = ("quartermaster", command, "--config", f"/etc/quartermaster/{_FILE}")
        kubeconfig = ("--kubeconfig", str(self.plane.kubeconfig))
        done = subprocess.run(
            ["kubectl", *kubeconfig, *place, *told],  # noqa: S607  # whichever is first on PATH
            capture_output=True,
            text=True,
            check=False,
            timeout=_COMMAND_SECONDS,
        )
        return done.stdout + done.stderr

    def _has_no_pods(self) -> bool:
        return not self.pods()

    def _is_gone(self) -> bool:
        return not self.plane.api.list("persistentvolumeclaims", BOT)

    def _ready_pod(self) -> Object | None:
        pods = self.pods()
        if len(pods) != 1 or "deletionTimestamp" in pods[0]["metadata"]:
            return None
        conditions = pods[0]["status"].get("conditions", ())
        ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
        return pods[0] if ready else None

    def _deploy(self) -> None:
        api = self.plane.api
        if api.get("deployments.apps", BOT, BOT) is not None:
            api.patch("deployments.apps", BOT, {"spec": {"replicas": 1}}, BOT)
            return
        (configuration,) = deployed(_CONFIGURATION)
        told = yaml.safe_load(configuration["data"][_FILE])
        own = {key: value for key, value in self.settings.items() if key not in _NOT_HERE}
        document = {**own, **{key: told[key] for key in _OURS}}
        api.apply(configuration | {"data": {_FILE: yaml.safe_dump(document)}})
        (secret,) = yaml.safe_load_all(
            (DEPLOYED.parent / "secret.example.yaml").read_text(encoding="utf-8")
        )
        tokens = {key: self.environment[key.upper()] for key in secret["stringData"]}
        api.apply(secret | {"stringData": {**tokens, **self.keys}})
        for body in deployed(_BOT):
            api.apply(self._fitted(body))

    def _fitted(self, body: Object) -> Object:
        """What somebody who installs it changes in deploy/: the image, and the storage class."""
        if body["kind"] == "PersistentVolumeClaim":
            body["spec"]["storageClassName"] = self.storage_class
        if body["kind"] == "Deployment":
            spec = body["spec"]["template"]["spec"]
            for container in (*spec["initContainers"], *spec["containers"]):
                container["image"] = NAME
        return body

    def _metrics(self) -> str:
        pod = self._ready_pod()
        if pod is None:
            return ""
        try:
            page = f"http://{pod['status']['podIP']}:8081/metrics"
            return httpx.get(page, trust_env=False, timeout=5).text
        except httpx.HTTPError:
            return ""

    def _keep_log(self) -> None:
        """Adds what its pods have said to the log; what was there of the same pod goes."""
        for pod in self.pods():
            name = pod["metadata"]["name"]
            for container in ("migrate", "bot"):
                path = f"/api/v1/namespaces/{BOT}/pods/{name}/log"
                with contextlib.suppress(ApiError, httpx.HTTPError):
                    text = self.plane.api.text(path, container=container)
                    self.log.with_name(f"{name}-{container}.log").write_text(text)
        found = sorted(self.log.parent.glob(f"{BOT}-*.log"), key=lambda path: path.stat().st_mtime)
        self.log.write_text("".join(path.read_text("utf-8") for path in found), "utf-8")

    def _told(self) -> str:
        """Why a pod is not ready, as far as Kubernetes says so."""
        events = [
            f"{each['involvedObject']['kind']}: {each['message']}"
            for each in self.plane.api.list("events", BOT)
        ]
        states = [yaml.safe_dump(pod["status"]) for pod in self.pods()]
        return "\n".join([*states, *events, self.log_tail(40)])


@contextlib.asynccontextmanager
async def opened_story(
    plane: ControlPlane,
    out: Path,
    storage_class: str,
    settings: dict[str, Any] | None = None,
    setup: Setup | None = None,
) -> AsyncIterator[PlaneStory]:
    """A story whose bot runs in a pod; what it says to the world outside goes over the bridge."""
    async with AsyncExitStack() as held:
        world = await held.enter_async_context(opened_world(plane, out, settings, setup))
        slack = await held.enter_async_context(forwarded(world.addresses.slack, plane.address))
        told_in_pod: dict[str, Any] = {"slack": {"api_url": f"{slack}/api/"}}
        if world.bucket is not None:
            store = await held.enter_async_context(forwarded(world.bucket.endpoint, plane.address))
            told_in_pod["stores"] = {LAKE: {"endpoint": store, "credentials": _SECRETS}}
        world.slack.base_url = slack
        world.bots[0] = _in_pod(world, plane, told_in_pod, storage_class)
        live_in_real_time(world)
        await world.start_bots()
        yield await held.enter_async_context(told(PlaneStory(world, plane)))


def _in_pod(
    world: World, plane: ControlPlane, told_in_pod: Mapping[str, Any], storage_class: str
) -> BotInPod:
    process = world.bot
    settings = yaml.safe_load(process.config.read_text(encoding="utf-8"))
    return BotInPod(
        config=process.config,
        url=process.url,
        log=process.log,
        environment=process.environment,
        plane=plane,
        settings=merged(settings, told_in_pod),
        storage_class=storage_class,
        keys=KEYS if world.bucket is not None else {},
    )
