"""What programs say that are no plain training: launchers, elastic agents and notebooks."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

Line = tuple[datetime, str]
_BASE = re.compile(r"base_url[= ](\S+)")
_RANKS = re.compile(r"-np[= ](\d+)|-n[= ](\d+)")
_ALL_RANKS = re.compile(r"-np[= ](\d+)")
_ROUNDS = re.compile(r"<< END\n((?:(?:\d+-\d+ ?)+\n)+)END\b")
_NODES = re.compile(r"--nnodes[= ](?:\d+:)?(\d+)")
_PER_NODE = re.compile(r"--nproc[-_]per[-_]node[= ](\d+)")
_ENDPOINT = re.compile(r"--rdzv[-_]endpoint[= ]([^:\s]+):(\d+)")
NCCL, TORCHRUN, MPI, JUPYTER = "nccl", "torchrun", "mpi", "jupyter"
_SIGNS = (
    (NCCL, re.compile(r"\ball_reduce_perf\b")),
    (TORCHRUN, re.compile(r"\btorchrun\b|torch\.distributed\.run\b")),
    (MPI, re.compile(r"\bmpirun\b|\bmpiexec\b|\bhorovodrun\b")),
    (JUPYTER, re.compile(r"\bstart-notebook|\bjupyter\b")),
)


@dataclass(frozen=True)
class Saying:
    """What a command tells about itself; `rounds` are pairs of nodes, such as 0-1, to measure."""

    style: str = ""
    host: str = "localhost"
    ranks: int = 1
    nodes: int = 1
    base_url: str = "/"
    endpoint: tuple[str, str] = ("localhost", "29400")
    rank: int = 0
    rounds: tuple[tuple[str, ...], ...] = ()


def saying_of(words: str, host: str, rank: int) -> Saying:
    """How the program of a command speaks, on a host with that place among its like."""
    style = next((name for name, sign in _SIGNS if sign.search(words)), "")
    nodes, per_node = _number(_NODES, words), _number(_PER_NODE, words)
    rounds: tuple[tuple[str, ...], ...] = ()
    ranks = _number(_RANKS, words) if style != TORCHRUN else nodes * per_node
    if style == NCCL and (found := _ROUNDS.search(words)):
        # The last count is that of the test of all nodes.
        ranks = int(_ALL_RANKS.findall(words)[-1])
        rounds = tuple(tuple(line.split()) for line in found[1].splitlines())
    base, endpoint = _BASE.search(words), _ENDPOINT.search(words)
    place = (endpoint.group(1), endpoint.group(2)) if endpoint else (host, "29400")
    url = base.group(1) if base else "/"
    return Saying(style, host, max(1, ranks), max(1, nodes), url, place, rank, rounds)


def _number(pattern: re.Pattern[str], words: str) -> int:
    found = pattern.search(words)
    return int(next(group for group in found.groups() if group)) if found else 1


def opening(saying: Saying, started: datetime) -> list[Line]:
    """What is said before the work begins."""
    said: Iterator[str] = iter(())
    if saying.style == TORCHRUN:
        said = _rendezvous(saying, started)
    elif saying.style == MPI:
        said = (
            f"[1,{rank}]<stdout>:rank {rank} of {saying.ranks} started"
            for rank in range(saying.ranks)
        )
    elif saying.style == JUPYTER:
        said = _notebook(saying, started)
    return [(started + timedelta(seconds=1), text) for text in said]


def _rendezvous(saying: Saying, started: datetime) -> Iterator[str]:
    agent = f"I{started:%m%d %H:%M:%S}.000000 1 torch/distributed/elastic/agent/server/api.py"
    per_node = saying.ranks // saying.nodes
    yield f"{agent}:525] [default] starting workers for entrypoint: python"
    yield f"{agent}:692] [default] Rendezvous'ing worker group"
    first = saying.rank * per_node
    ranks = list(range(first, first + per_node))
    yield f"{agent}:560] [default] Rendezvous complete for workers. Result:"
    yield "  restart_count=0"
    yield f"  master_addr={saying.endpoint[0]}"
    yield f"  master_port={saying.endpoint[1]}"
    yield f"  group_rank={saying.rank}"
    yield f"  group_world_size={saying.nodes}"
    yield f"  local_ranks={list(range(per_node))}"
    yield f"  role_ranks={ranks}"
    yield f"  global_ranks={ranks}"
    yield f"{agent}:700] [default] Starting worker group"


def _notebook(saying: Saying, started: datetime) -> Iterator[str]:
    lead = f"[I {started:%Y-%m-%d %H:%M:%S}.000 ServerApp]"
    url = saying.base_url.rstrip("/")
    yield f"{lead} jupyterlab | extension was successfully loaded."
    yield f"{lead} Serving notebooks from local directory: /home/jovyan"
    yield f"{lead} Jupyter Server 2.17.0 is running at:"
    yield f"{lead} http://{saying.host}:8888{url}/lab?token=..."
    yield f"{lead}     http://127.0.0.1:8888{url}/lab?token=..."
    yield (
        f"{lead} Use Control-C to stop this server and shut down all kernels (twice to skip "
        "confirmation)."
    )
