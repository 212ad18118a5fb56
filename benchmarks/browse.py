"""How long `/dataset ls` reads in the manifest of a large version, and with how much memory."""

import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import boto3

from benchmarks.rig.figures import Aim, Report, command, median
from bot.config import Settings
from bot.datasets.browsing.listing import Listing, ListRequest
from bot.datasets.browsing.reads import BrowseReads
from bot.datasets.manifest import Entry, ManifestWriter, write_index
from bot.datasets.tables import Version
from bot.errors import NotFoundError
from playground.seaweed import ObjectStore, seaweed

MOST_SECONDS, MOST_MEGABYTES = 3.0, 200.0
_OBJECTS, _OBJECTS_QUICK, _ROUNDS = 1_000_000, 100_000, 3
_BUCKET, _KIBIBYTE, _MEGABYTE = "state", 1024, 1e6
_FLAT = {
    "first page": ListRequest(),
    "largest files": ListRequest(is_largest=True),
    "search": ListRequest(search="*99999*.png"),
    "wrong path": ListRequest("0050123_000.pgn"),
}
_NESTED = {
    "first page": ListRequest(),
    "a folder of 1,000": ListRequest("train/class-00050"),
    "its parent": ListRequest("train"),
    "search": ListRequest(search="*99999*.png"),
}


async def measure(quick: bool) -> Report:  # noqa: FBT001  # the rig calls it so
    """All files in one folder, then a thousand in each of many."""
    count = _OBJECTS_QUICK if quick else _OBJECTS
    with tempfile.TemporaryDirectory() as folder, seaweed(Path(folder) / "store") as server:
        bench = _Bench(server, Path(folder))
        flat = bench.recorded("flat", _entries(count, "{0:07}_000.png"))
        nested = bench.recorded("nested", _entries(count, "train/class-{1:05}/{0:07}.png"))
        seconds = {f"flat, {name}": bench.asked(flat, each) for name, each in _FLAT.items()}
        seconds |= {f"nested, {name}": bench.asked(nested, each) for name, each in _NESTED.items()}
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIBIBYTE / _MEGABYTE
    return _report(seconds, resident)


def _entries(count: int, key: str) -> Iterator[Entry]:
    for number in range(count):
        name = key.format(number, number // 1000)
        yield Entry(name, 100_000 + number % 977, f"{number:032x}")


class _Bench:
    """The manifests in a store of their own, and the bot's reader."""

    def __init__(self, server: ObjectStore, folder: Path) -> None:
        keys = {"access-key-id": server.access_key, "secret-access-key": server.secret_key}
        for name, value in keys.items():
            (folder / name).write_text(value)
        self._client = boto3.session.Session(server.access_key, server.secret_key).client(
            "s3", endpoint_url=server.endpoint, region_name="us-east-1"
        )
        self._client.create_bucket(Bucket=_BUCKET)
        store = {"endpoint": server.endpoint, "path_style": True, "credentials": str(folder)}
        team = {"namespace": "team-a", "local_queue": "team-a"}
        told = {"workspace": "T0QM", "teams": {"team-a": team}, "stores": {"state": store}}
        settings = Settings.model_validate(told)
        self._reads = BrowseReads(lambda: settings)

    def recorded(self, name: str, entries: Iterator[Entry]) -> Version:
        """A version with these objects."""
        put = partial(self._put, name)
        writer = ManifestWriter(put)
        for entry in entries:
            writer.add(entry)
        index = writer.close("s3://lake/set/")
        write_index(put, index)
        now = datetime.now(UTC)
        return Version(
            workspace_id="T0QM", dataset_id="set", dataset="set", name=name, team="team-a",
            person="U0ALICE", channel="C0TEAMA", cluster="default", namespace="datasets",
            job_name="survey", store="lake", source="s3://lake/set/", manifest_store="state",
            manifest=f"s3://{_BUCKET}/{name}/", asked_at=now, since=now, digest=index.digest,
        )  # fmt: skip

    def _put(self, folder: str, name: str, content: bytes) -> None:
        self._client.put_object(Bucket=_BUCKET, Key=f"{folder}/{name}", Body=content)

    def asked(self, version: Version, request: ListRequest) -> tuple[float, float]:
        """Seconds until there is an answer, and seconds of a processor for it."""
        took = [_timed(partial(self._answer, version, request)) for _ in range(_ROUNDS)]
        return median([each[0] for each in took]), median([each[1] for each in took])

    def _answer(self, version: Version, request: ListRequest) -> None:
        try:
            found = self._reads.listing(version, request)
        except NotFoundError:
            return
        if not (isinstance(found, Listing) and found.is_whole):
            raise RuntimeError("not everything was read")


def _timed(work: Callable[[], None]) -> tuple[float, float]:
    began, worked = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - began, time.process_time() - worked


def _report(seconds: Mapping[str, tuple[float, float]], resident: float) -> Report:
    figures = {
        name: {"seconds": took, "processor_seconds": worked}
        for name, (took, worked) in seconds.items()
    }
    slowest = max(took for took, _ in seconds.values())
    aims = [
        Aim("seconds of the slowest answer", slowest, MOST_SECONDS),
        Aim("MB resident", resident, MOST_MEGABYTES),
    ]
    return Report({**figures, "all": {"resident_mb": resident}}, aims)


main = command("browse", "`/dataset ls` of a version with a million objects.", measure)

if __name__ == "__main__":
    main()
