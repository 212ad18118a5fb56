"""Many threads may meet a kind of object for the first time at once."""

import subprocess
import sys

# In a process of its own, because what goes wrong here ends the process.
_MEETING = """
import sys
from threading import Barrier, Thread

import msgspec

from bot.cluster.api.answers import decode

sys.setswitchinterval(1e-6)
for _ in range(100):
    parts = [(f"part_{n}", msgspec.defstruct(f"Part{n}", [("size", int)])) for n in range(30)]
    inner = msgspec.defstruct("Inner", parts)
    body = msgspec.json.encode({"inner": {name: {"size": 1} for name, _ in parts}})
    kinds = [msgspec.defstruct(f"Kind{n}", [("inner", inner)]) for n in range(4)]
    start = Barrier(len(kinds))

    def meet(kind):
        start.wait()
        decode(body, kind, "Reading")

    threads = [Thread(target=meet, args=(kind,)) for kind in kinds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print("all read")
"""


def test_threads_meet_new_kinds_at_once() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _MEETING], capture_output=True, text=True, check=False, timeout=300
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "all read\n", "")
