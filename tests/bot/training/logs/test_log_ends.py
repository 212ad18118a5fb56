"""What a run said last is what its card shows, whatever its log is like."""

from datetime import datetime, timedelta
from html import escape
from typing import Any

from bot.training.logs.reads import LogRequest
from playground.cluster.control.training import Line, Training
from playground.cluster.objects.kinds import POD, Kind, Object
from tests.bot.training.external.test_external import theirs
from tests.bot.training.rig import IMAGE, Rig

BAR = "{done:>3}%|{bar:<50}| {done}/100 [00:01<00:08, 5.11it/s, loss={loss:.3f}]\r"
TRACEBACK = (
    "Traceback (most recent call last):",
    '  File "train.py", line 214, in <module>',
    "RuntimeError: DataLoader worker (pid 41) is killed by signal: Bus error.",
)


def progress_bar(training: Training, started: datetime, until: datetime) -> list[Line]:
    """A bar drawn a thousand times a percent, 10 MB in all, and then a traceback."""
    passed = (until - started) / timedelta(seconds=training.fails_after or 1)
    said: list[Line] = []
    for done in range(min(100, int(100 * passed)) + 1):
        state = BAR.format(done=done, bar="█" * (done // 2), loss=2 - done / 100)
        said.append((started + timedelta(seconds=done), state * 1000))
    if passed >= 1:
        said.append((until, ""))
        said += [(until, line) for line in TRACEBACK]
    return said


def add_sidecar(kind: Kind, obj: Object, old: Object | None) -> None:
    """What Istio's webhook does to a pod of an older mesh."""
    if kind.qualified == POD.qualified and old is None:
        first = obj["spec"]["containers"][0]
        proxy: dict[str, Any] = {"name": "istio-proxy", "image": "istio/proxyv2:1.27"}
        obj["spec"]["containers"].insert(0, {**first, **proxy, "resources": {}})
        annotations = obj["metadata"].setdefault("annotations", {})
        annotations["kubectl.kubernetes.io/default-container"] = first["name"]


def with_sidecars(rig: Rig) -> None:
    rig.world.inside.operations.admissions.append(add_sidecar)
    rig.world.behaviours["istio/proxyv2"] = Training(epochs=1, seconds_per_epoch=0)


def test_the_newest_of_a_progress_bar_is_shown(rig: Rig) -> None:
    rig.world.behaviours[IMAGE] = Training(fails_after=100, log=progress_bar)
    run_id = rig.submit()
    rig.pass_time(seconds=70)
    run = rig.get(run_id)
    assert run.last_line == BAR.format(done=60, bar="█" * 30, loss=1.4).strip()
    assert run.results["loss"] == "1.400"
    assert run.progress == {"done": 60, "total": 100, "unit": "%"}


def test_a_traceback_behind_a_progress_bar_is_told(rig: Rig) -> None:
    rig.world.behaviours[IMAGE] = Training(fails_after=100, log=progress_bar)
    run_id = rig.submit()
    rig.pass_time(minutes=12)
    assert rig.get(run_id).phase == "failed"
    assert rig.get(run_id).last_line == TRACEBACK[-1]
    assert rig.get(run_id).results["loss"] == "1.000"
    assert escape("\n".join(TRACEBACK), quote=False) in rig.notes(run_id)["ended"]
    assert rig.reads.log_tail(rig.get(run_id), LogRequest(3)).lines == TRACEBACK


def test_a_sidecar_hides_neither_log_nor_end(rig: Rig) -> None:
    with_sidecars(rig)
    rig.world.behaviours[IMAGE] = Training(fails_after=20, out_of_memory=True)
    run_id = rig.submit()
    rig.pass_time(seconds=20)
    assert rig.get(run_id).phase == "running"
    assert "epoch 1/3 step 80/400" in rig.reads.log_tail(rig.get(run_id), LogRequest(9)).lines[-1]
    rig.pass_time(minutes=12)
    assert rig.get(run_id).phase == "failed"
    assert "(OOMKilled)" in rig.get(run_id).reason
    assert "epoch 1/3 step 80/400" in rig.get(run_id).last_line


def test_logs_of_others_are_read_beside_sidecars(rig: Rig) -> None:
    with_sidecars(rig)
    theirs(rig)
    found = rig.service.find_external("team-a", "notebook")
    assert found is not None
    tail = rig.reads.external_log_tail("default", found, LogRequest(1))
    assert (tail.trouble, tail.lines) == (
        "",
        ("2026-11-21 12:00:51 Found 1281167 training images, batch size 32",),
    )
