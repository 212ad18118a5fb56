"""Tables that all_reduce_perf prints, in the layouts of its versions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

Line = tuple[datetime, str]
SMALLEST_BYTES, STEPS = 8, 28
# Peak bus bandwidth between nodes (GB/s) and the time of the smallest message (us).
PROVIDERS = {"efa": (42.3, 630.0), "ib": (24.0, 40.0), "socket": (2.4, 900.0)}
_BOTH = "out-of-place                       in-place"
_OLD = "# {:>10} {:>13} {:>9} {:>7}" + " {:>8} {:>7} {:>7} {:>6}" * 2
_USUAL = "# {:>10} {:>13} {:>9} {:>7} {:>7}" + " {:>8} {:>7} {:>7} {:>6}" * 2
_NEW = "# {:>10} {:>13} {:>9} {:>7} {:>7}" + " {:>8} {:>7} {:>7} {:>6} {:>7} {:>7} {:>7} {:>6}" * 2
_HEADS = {
    "2.0": (_OLD, ("size", "count", "type", "redop"), ("time", "algbw", "busbw", "error")),
    "2.13": (
        _USUAL,
        ("size", "count", "type", "redop", "root"),
        ("time", "algbw", "busbw", "#wrong"),
    ),
    "2.19": (
        _NEW,
        ("size", "count", "type", "redop", "root"),
        ("time", "algbw", "busbw", "#wrong", "i_min", "i_max", "i_p99", "i_cv%"),
    ),
}


@dataclass(frozen=True)
class Test:
    """One test: how many ranks on how many hosts, over which network, told in which layout.

    `tagged` is mpirun's --tag-output. `hosts` are the names that ranks are spread over.
    """

    ranks: int = 2
    hosts: tuple[str, ...] = ("localhost",)
    provider: str = "efa"
    layout: str = "2.13"
    tagged: bool = False
    peak: float | None = None


def table(test: Test, started: datetime, until: datetime, lasts: float) -> list[Line]:
    """What the test has said from its start until a moment, if it takes that many seconds."""
    head = [*_head(test)]
    rows = [*_rows(test)]
    told = [(started, text) for text in head]
    for number, (text, _) in enumerate(rows, start=1):
        told.append((started + timedelta(seconds=lasts * number / (len(rows) + 1)), text))
    average = sum(busy for _, busy in rows) / len(rows)
    end = started + timedelta(seconds=lasts)
    told += [
        (end, "# Out of bounds values : 0 OK"),
        (end, f"# Avg bus bandwidth    : {average:.6g} "),
        (end, "#"),
    ]
    tag = "[1,0]<stdout>:" if test.tagged else ""
    return [(at, tag + text) for at, text in told if at <= until]


def pairs(
    test: Test,
    rounds: Sequence[Sequence[str]],
    slow: Mapping[str, float],
    started: datetime,
    lasts: timedelta,
) -> Iterator[Line]:
    """What is said of each pair of nodes, in rounds; a speed of 0 is a pair that fails."""
    usual = test.peak or PROVIDERS[test.provider][0]
    yield started, f"Pairs: {sum(map(len, rounds))} in {len(rounds)} rounds"
    for number, measured in enumerate(rounds, start=1):
        at = started + lasts * number / (len(rounds) + 1)
        for pair in measured:
            speed = slow.get("-".join(sorted(pair.split("-"), key=int)), usual)
            yield at, f"Pair {pair}: " + (f"{speed:.2f} GB/s" if speed else "failed. no answer")
        yield at, f"Pairs: step {number}/{len(rounds)}"
    for pair in sorted(slow, key=slow.__getitem__):
        said = f"{slow[pair]:.2f} GB/s" if slow[pair] else "failed. no answer"
        yield started + lasts, f"Pair {pair} alone: {said}"


def _head(test: Test) -> Iterator[str]:
    most = SMALLEST_BYTES * 2 ** (STEPS - 1)
    yield (
        f"# nThread 1 nGpus 1 minBytes {SMALLEST_BYTES} maxBytes {most} step: 2(factor) warmup "
        "iters: 5 iters: 100 agg iters: 1 validation: 1 graph: 0"
    )
    yield "#"
    yield "# Using devices"
    for rank in range(test.ranks):
        host = test.hosts[rank * len(test.hosts) // test.ranks]
        yield f"#  Rank {rank:>2} Group  0 Pid {33 + rank:>6} on {host:>10} device {rank % 8:>2}"
    yield f"{test.hosts[0]}:33:33 [0] NCCL INFO {_network(test)}"
    form, left, right = _HEADS[test.layout]
    yield "#" + f"{_BOTH:>102}"
    yield "#" + form.format(*left, *right, *right)[1:]
    units = ("(us)", "(GB/s)", "(GB/s)", *[""] * (len(right) - 3))
    blank = [""] * (len(left) - 2)
    yield form.format("(B)", "(elements)", *blank, *units, *units).rstrip()


def _network(test: Test) -> str:
    match test.provider:
        case "efa" if test.layout == "2.0":
            return "NET/OFI Selected Provider is efa"
        case "efa":
            return "NET/OFI Selected provider is efa, fabric is efa (found 4 nics)"
        case "ib":
            return "NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.2<0>"
        case _:
            return "NET/Socket : Using [0]eth0:10.0.0.2<0>"


def _rows(test: Test) -> Iterator[tuple[str, float]]:
    """Each row of the table with the mean of its two bus bandwidths."""
    usual, latency = PROVIDERS[test.provider]
    peak = test.peak or usual
    factor = 2 * (test.ranks - 1) / max(1, test.ranks)
    form, left, right = _HEADS[test.layout]
    for step in range(STEPS):
        size = SMALLEST_BYTES * 2**step
        cells: list[str] = []
        busy = 0.0
        for drift in (1.0, 1.004):
            time = (latency + size * factor / peak / 1000) * drift
            rate = size / time / 1000
            busy += round(rate * factor, 2) / 2
            cells += [f"{time:.1f}", f"{rate:.2f}", f"{rate * factor:.2f}"]
            cells += ["5e-07"] if test.layout == "2.0" else ["0"]
            if len(right) > len(cells) // 2 and test.layout == "2.19":
                cells += [f"{time * 0.98:.1f}", f"{time * 1.05:.1f}", f"{time * 1.04:.1f}", "1.20"]
        lead = [str(size), str(size // 4), "float", "sum", *["-1"] * (len(left) - 4)]
        yield " " + form.format(*lead, *cells)[1:], busy
