"""Containers whose image is a program of this machine really run."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.playground.cluster.served import Runner, Served

IMAGE = "ghcr.io/acme/worker:1"
PROGRAM = """\
import json, os, pathlib, sys
said = json.loads(sys.argv[1])
print(pathlib.Path(said["keys"], "user").read_text(), os.environ["GREETING"], flush=True)
pathlib.Path(sys.argv[2], "made.txt").write_text("kept")
sys.exit(int(sys.argv[3]))
"""
WAITING = "import threading; print('waits', flush=True); threading.Event().wait()"


@pytest.fixture
def working(runner: Runner, tmp_path: Path) -> Iterator[Served]:
    """A cluster that runs one image as Python, with a Secret and a claim."""
    with Served(runner).serving() as served:
        programs = served.cluster.programs
        programs.folder = tmp_path
        programs.images[IMAGE] = (sys.executable, "-c")
        secret = {"metadata": {"name": "keys"}, "stringData": {"user": "somebody"}}
        served.cluster.create("secrets", secret, "team-a")
        yield served


def pod(name: str, *args: str) -> dict[str, Any]:
    container = {
        "name": "main",
        "image": IMAGE,
        "args": list(args),
        "env": [{"name": "GREETING", "value": "hello"}],
        "volumeMounts": [
            {"name": "keys", "mountPath": "/etc/keys"},
            {"name": "data", "mountPath": "/data"},
        ],
    }
    volumes = [
        {"name": "keys", "secret": {"secretName": "keys"}},
        {"name": "data", "persistentVolumeClaim": {"claimName": "imagenet"}},
    ]
    spec = {"restartPolicy": "Never", "containers": [container], "volumes": volumes}
    return {"metadata": {"name": name}, "spec": spec}


def ended(served: Served, name: str) -> dict[str, Any]:
    """How the pod's container ended."""
    served.pass_time(10)
    served.until(lambda: phase(served, name) in {"Succeeded", "Failed"})
    found = served.cluster.get("pods", name, "team-a")
    assert found is not None
    state: dict[str, Any] = found["status"]["containerStatuses"][0]["state"]["terminated"]
    return state


def phase(served: Served, name: str) -> str:
    found = served.cluster.get("pods", name, "team-a")
    return found["status"]["phase"] if found else "gone"


@pytest.mark.parametrize(("code", "reason"), [(0, "Completed"), (65, "Error")])
def test_a_program_reads_secrets_and_writes_claims(working: Served, code: int, reason: str) -> None:
    told = json.dumps({"keys": "/etc/keys"})
    working.cluster.create("pods", pod("one", PROGRAM, told, "/data", str(code)), "team-a")
    found = ended(working, "one")
    assert (found["exitCode"], found["reason"]) == (code, reason)
    assert working.cluster.logs("one", "team-a") == "somebody hello\n"
    assert (
        working.cluster.programs.volume("team-a", "imagenet") / "made.txt"
    ).read_text() == "kept"
    assert not working.cluster.programs.is_busy


def test_variables_in_arguments_are_filled_in(working: Served) -> None:
    words = ("$(GREETING)", "$$(GREETING)", "$(OTHER)", "$$", "$")
    program = "import sys; print(*sys.argv[1:], flush=True)"
    working.cluster.create("pods", pod("says", program, *words), "team-a")
    assert ended(working, "says")["exitCode"] == 0
    assert working.cluster.logs("says", "team-a") == "hello $(GREETING) $(OTHER) $ $\n"


def test_a_deleted_pod_ends_its_program(working: Served) -> None:
    working.cluster.create("pods", pod("waits", WAITING), "team-a")
    working.pass_time(10)
    working.until(lambda: phase(working, "waits") == "Running")
    assert working.cluster.programs.is_busy
    working.cluster.delete("pods", "waits", "team-a")
    working.pass_time(60)
    working.until(lambda: phase(working, "waits") == "gone")
    assert not working.cluster.programs.is_busy


def test_an_unknown_image_only_pretends(working: Served) -> None:
    body = pod("pretends", "--epochs", "1")
    body["spec"]["containers"][0]["image"] = "ghcr.io/acme/lane:1"
    working.cluster.create("pods", body, "team-a")
    working.pass_time(10)
    working.until(lambda: phase(working, "pretends") == "Running")
    assert not working.cluster.programs.is_busy


def with_first(name: str, *programs: str, **spec: Any) -> dict[str, Any]:
    """A pod of the program that notes what is there, before which these run, in order."""
    look = "import os, sys; print(*sorted(os.listdir(sys.argv[1])), flush=True)"
    body = pod(name, look, "/data")
    mounts = body["spec"]["containers"][0]["volumeMounts"]
    body["spec"]["initContainers"] = [
        {"name": f"first-{number}", "image": IMAGE, "args": [program], "workingDir": "/data",
         "volumeMounts": mounts}
        for number, program in enumerate(programs)
    ]  # fmt: skip
    body["spec"] |= spec
    return body


def states(served: Served, name: str) -> dict[str, Any]:
    """The state of each container, init containers first."""
    status = served.cluster.get("pods", name, "team-a")["status"]  # type: ignore[index]
    rows = [*status.get("initContainerStatuses", ()), *status["containerStatuses"]]
    found = {}
    for row in rows:
        ((state, told),) = row["state"].items()
        found[row["name"]] = (state, told.get("reason"))
    return found


def initialized(served: Served, name: str) -> tuple[str, str]:
    status = served.cluster.get("pods", name, "team-a")["status"]  # type: ignore[index]
    row = next(each for each in status["conditions"] if each["type"] == "Initialized")
    return row["status"], row.get("message", "")


def test_init_containers_run_one_after_another(working: Served) -> None:
    programs = ("open('one', 'w')", "import os; os.rename('one', 'two')")
    working.cluster.create("pods", with_first("ordered", *programs), "team-a")
    assert ended(working, "ordered")["exitCode"] == 0
    assert working.cluster.logs("ordered", "team-a") == "two\n"
    done = ("terminated", "Completed")
    assert states(working, "ordered") == {"first-0": done, "first-1": done, "main": done}
    assert initialized(working, "ordered") == ("True", "")


def test_others_wait_for_init_containers(working: Served) -> None:
    working.cluster.create("pods", with_first("slow", WAITING), "team-a")
    working.pass_time(10)
    working.until(lambda: states(working, "slow")["first-0"][0] == "running")
    assert phase(working, "slow") == "Pending"
    assert states(working, "slow")["main"] == ("waiting", "PodInitializing")
    assert initialized(working, "slow") == (
        "False",
        "containers with incomplete status: [first-0]",
    )
    working.cluster.delete("pods", "slow", "team-a")
    working.pass_time(60)
    working.until(lambda: phase(working, "slow") == "gone")


def test_an_init_container_that_fails_ends_it(working: Served) -> None:
    failing = "import sys; print('no room', flush=True); sys.exit(3)"
    working.cluster.create("pods", with_first("spoilt", failing, "open('x', 'w')"), "team-a")
    working.pass_time(10)
    working.until(lambda: phase(working, "spoilt") == "Failed")
    assert states(working, "spoilt") == {
        "first-0": ("terminated", "Error"),
        "first-1": ("waiting", "PodInitializing"),
        "main": ("waiting", "PodInitializing"),
    }
    assert working.cluster.logs("spoilt", "team-a", container="first-0") == "no room\n"


def test_a_failing_init_container_starts_again(working: Served) -> None:
    failing = "import os, sys; os.path.exists('x') or (open('x', 'w'), sys.exit(1))"
    body = with_first("again", failing, restartPolicy="OnFailure")
    working.cluster.create("pods", body, "team-a")
    working.pass_time(5)
    working.until(lambda: states(working, "again")["first-0"][1] == "CrashLoopBackOff")
    assert phase(working, "again") == "Pending"
    assert ended(working, "again")["exitCode"] == 0
    status = working.cluster.get("pods", "again", "team-a")["status"]  # type: ignore[index]
    assert [row["restartCount"] for row in status["initContainerStatuses"]] == [1]
