"""Containers that really run: programs of this machine in place of images nobody can pull."""

import base64
import re
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playground.children import die_with_parent
from playground.cluster.control.contents import handle_of
from playground.cluster.control.expansion import environment_of, words_of
from playground.cluster.objects.kinds import CLAIM, SECRET, Object
from playground.cluster.objects.storage_rules import claims_of, volume_of
from playground.cluster.objects.store import Key, Store

_ROOT = Path(__file__).parents[3]
_KILLED_BY = 128


@dataclass
class Program:
    """One process; its end is known to the cluster once somebody has asked for its code."""

    process: "subprocess.Popen[bytes]"
    log: Path
    waits: bool = False
    is_taken: bool = False

    def code(self) -> int | None:
        """The exit code as a container has it, None while it runs."""
        code = self.process.poll()
        if code is None:
            return None
        self.is_taken = True
        return code if code >= 0 else _KILLED_BY - code

    def stop(self) -> None:
        """Asks it to end."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Ends it."""
        self.process.kill()
        self.process.wait()
        self.is_taken = True


class Programs:
    """Starts containers of certain images as processes, and says when these end.

    `images` are the words that stand for an image's entry point; other images only pretend to
    run. A program whose first argument is in `waiting` waits for people, so time goes on
    meanwhile. Secrets and claims that a pod mounts are folders below `folder`, and its arguments
    name these in place of the mount paths.
    """

    def __init__(self, store: Store) -> None:
        self.images: dict[str, tuple[str, ...]] = {}
        self.waiting: set[str] = set()
        self.folder = Path()
        self.ended: deque[Key] = deque()
        self.on_end: Callable[[], None] = lambda: None
        self._store = store
        self._started: list[Program] = []

    @property
    def volumes(self) -> Path:
        """Where all volumes have their folders."""
        return self.folder / "volumes"

    @property
    def is_busy(self) -> bool:
        """Whether a process is at work, or has ended without the cluster knowing yet."""
        return any(
            not each.is_taken and not (each.waits and each.process.poll() is None)
            for each in self._started
        )

    def start(self, pod: Object, container: Mapping[str, Any]) -> Program | None:
        """The process of a container, None where its image only pretends."""
        entry = self.images.get(container["image"])
        if entry is None:
            return None
        home = (self.folder / "pods" / pod["metadata"]["uid"]).resolve()
        home.mkdir(parents=True, exist_ok=True)
        places = dict(self._places(pod, container, home))
        log = home / f"{container['name']}.log"
        with log.open("ab") as said:
            process = subprocess.Popen(  # noqa: S603  # the words of a pod, as everywhere
                [_placed(word, places) for word in words_of(container, *entry)],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                cwd=places.get(container.get("workingDir", ""), home),
                env={"TMPDIR": str(home), "PYTHONPATH": str(_ROOT), **environment_of(container)},
                process_group=0,
                preexec_fn=die_with_parent,  # noqa: PLW1509  # it only makes one system call
            )
        first = next(iter(container.get("args") or ()), "")
        program = Program(process, log, waits=first in self.waiting)
        self._started.append(program)
        key = (pod["metadata"]["namespace"], pod["metadata"]["name"])
        threading.Thread(target=self._wait, args=(process, key), daemon=True).start()
        return program

    def volume(self, namespace: str, claim: str) -> Path:
        """The folder that stands for a claim: the same for all claims on one volume."""
        found = self._store.get(CLAIM, namespace, claim)
        volume = volume_of(self._store, found) if found is not None else None
        handle = handle_of(volume) if volume is not None else ""
        return (self.volumes / (handle or f"{namespace}-{claim}")).resolve()

    def close(self) -> None:
        """Kills what still runs."""
        for program in self._started:
            program.kill()

    def _wait(self, process: "subprocess.Popen[bytes]", key: Key) -> None:
        process.wait()
        self.ended.append(key)
        self.on_end()

    def _places(
        self, pod: Object, container: Mapping[str, Any], home: Path
    ) -> Iterator[tuple[str, Path]]:
        """The folder behind each mount path."""
        space = pod["metadata"]["namespace"]
        folders: dict[str, Path] = {}
        for name, claim in claims_of(pod):
            folders[name] = self.volume(space, claim)
            folders[name].mkdir(parents=True, exist_ok=True)
        for volume in pod["spec"].get("volumes") or ():
            if "secret" in volume:
                folders[volume["name"]] = home / "volumes" / volume["name"]
                self._unpack(space, volume["secret"]["secretName"], folders[volume["name"]])
        for mount in container.get("volumeMounts") or ():
            if mount["name"] in folders:
                yield mount["mountPath"], folders[mount["name"]] / mount.get("subPath", "")

    def _unpack(self, space: str, name: str, folder: Path) -> None:
        secret = self._store.get(SECRET, space, name) or {}
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for key, value in (secret.get("data") or {}).items():
            path = folder / key
            path.touch(mode=0o600)
            path.write_bytes(base64.b64decode(value))


def _placed(word: str, places: Mapping[str, Path]) -> str:
    """A word of a command with mount paths as the folders behind them."""
    if not places:
        return word
    known = "|".join(re.escape(path) for path in sorted(places, key=len, reverse=True))
    pattern = rf"(?<![\w./-])({known})(?![\w.-])"
    return re.sub(pattern, lambda found: str(places[found.group()]), word)
