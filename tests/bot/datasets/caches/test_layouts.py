"""Files that are rearranged once they are copied, before anybody sees them."""

from bot.datasets.caches.tables import CachePhase
from tests.bot.datasets.caches.filling import DONE, Filling, settings
from tests.bot.datasets.caches.rows import DIGEST
from tests.bot.ground import ALICE
from tests.schemas import fits

GROWING = ".filling-aaaaaaaaaaaaaaaa/tree/files"
OPEN = DONE | {"ready": False, "files": GROWING}
FINISHED = {"event": "done", "phase": "finishing", "digest": DIGEST, "ready": True}


def copied(filling: Filling) -> str:
    """A cache with a layout, up to where its files are copied."""
    filling.fills(last=OPEN)
    cache_id = filling.cache(layout="imagenet")
    filling.run()
    (job,) = filling.jobs()
    assert job["spec"]["template"]["spec"]["containers"][0]["args"][-1] == "--keep-open"
    filling.pass_time(seconds=38)
    filling.fills(last=FINISHED, seconds=10)
    return cache_id


def test_a_layout_comes_before_it_is_ready(filling: Filling) -> None:
    cache_id = copied(filling)
    filling.pass_time(seconds=10)
    assert filling.found(cache_id).phase == CachePhase.ARRANGING
    assert (
        filling.shown(cache_id)
        .splitlines()[0]
        .startswith("▶️ chest-xray@v3 on standard · Copied, arranging files for")
    )
    filling.pass_time(minutes=3)
    cache = filling.found(cache_id)
    assert (cache.phase, cache.verified_by) == (CachePhase.READY, DONE["verified_by"])
    assert (list(filling.notes(cache_id)), filling.jobs()) == (["filled"], [])
    jobs = ["create jobs", "delete jobs"]
    assert filling.effects() == ["create persistentvolumeclaims", *jobs, *jobs]


def test_a_layout_sees_the_files_alone(filling: Filling) -> None:
    copied(filling)
    filling.pass_time(seconds=10)
    (job,) = filling.jobs()
    pod = job["spec"]["template"]["spec"]
    (layout,), (worker,) = pod["initContainers"], pod["containers"]
    assert layout["command"] == ["sh", "/layouts/imagenet.sh"]
    assert (layout["workingDir"], layout["volumeMounts"][0]) == (
        "/files",
        {"name": "data", "mountPath": "/files", "subPath": GROWING},
    )
    assert worker["args"] == ["finish", "--target", "/data", "--digest", DIGEST]
    assert [each["name"] for each in pod["volumes"]] == ["tmp", "data"]


def test_a_layout_that_fails_spoils_the_volume(filling: Filling) -> None:
    cache_id = copied(filling)
    filling.fills(last={"event": "progress"}, seconds=10, code=2)
    filling.pass_time(minutes=30)
    cache = filling.found(cache_id)
    assert (cache.phase, cache.is_cleared, filling.claims()) == (CachePhase.FAILED, True, [])
    assert filling.notes(cache_id)["failed"] == (
        f"<@{ALICE}> chest-xray@v3 was not cached. Its layout imagenet failed.\n"
        "Fix datasets.layouts.imagenet of quartermaster.yaml, then cache it again."
    )


def test_a_layout_taken_away_waits_for_it(filling: Filling) -> None:
    cache_id = copied(filling)
    filling.policy = settings(layouts={})
    filling.pass_time(minutes=1)
    assert filling.found(cache_id).trouble == (
        "datasets.layouts.imagenet is no longer in quartermaster.yaml."
    )
    filling.policy = settings()
    filling.pass_time(minutes=10)
    assert filling.found(cache_id).phase == CachePhase.READY


def test_the_job_fits_the_kubernetes_schema(filling: Filling) -> None:
    copied(filling)
    filling.pass_time(seconds=10)
    fits(filling.jobs()[0], "batch.v1.Job")
