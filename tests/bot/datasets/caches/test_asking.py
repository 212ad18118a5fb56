"""What caching costs is said before anything is made; what cannot be is refused with numbers."""

from datetime import timedelta
from typing import Any

import pytest
from sqlmodel import Session, select

from bot.audit import lines_about
from bot.cluster.types.allowances import Allowance, AllowanceStatus
from bot.cluster.types.objects import ObjectMeta
from bot.cluster.types.quantities import Quantity
from bot.datasets.caches.answers import CacheFound, CacheOffer
from bot.datasets.caches.replies import offered, told
from bot.datasets.caches.tables import Cache, CacheIntent
from bot.datasets.finding import Reference
from bot.datasets.tables import Version
from bot.errors import ConflictError, LimitError, NotAllowedError, NotFoundError, UserError
from bot.slack.text import as_text
from playground.cluster.story import storage_class
from tests.bot.datasets.caches.filling import Filling, settings
from tests.bot.datasets.caches.rows import SIZE
from tests.bot.datasets.rig import SETTINGS
from tests.bot.ground import ALICE, BOB, TEAM_B

UNKNOWN = "unknown: there is no ResourceQuota and no budget (datasets.classes.standard.budget)"


def refusal(filling: Filling, **more: Any) -> str:
    with pytest.raises(UserError) as caught:
        filling.ask(**more)
    return f"{caught.value.message} {caught.value.hint}"


def offer(filling: Filling, **more: Any) -> CacheOffer:
    found = filling.ask(**more)
    assert isinstance(found, CacheOffer)
    return found


def limit(filling: Filling, **hard: str) -> None:
    """A ResourceQuota of the namespace of datasets, as its controller has counted it."""
    metadata = ObjectMeta(name="storage", namespace="datasets", uid="1")
    amounts = {key: Quantity.of(value) for key, value in hard.items()}
    used = dict.fromkeys(amounts, Quantity.of("0"))
    filling.allowances = [
        Allowance(metadata=metadata, status=AllowanceStatus(hard=amounts, used=used))
    ]


def change(filling: Filling, **fields: Any) -> None:
    """Has the version been recorded otherwise."""

    def work(session: Session) -> None:
        version = session.exec(select(Version)).one()
        for key, value in fields.items():
            setattr(version, key, value)
        session.add(version)

    filling.do(work)


def test_the_cost_is_said_first(filling: Filling) -> None:
    assert as_text(offered(offer(filling, size=2**40, teams=("team-b",)))) == _OFFER
    assert (filling.effects(), filling.claims()) == ([], [])


def test_what_nobody_knows_is_called_unknown(filling: Filling) -> None:
    filling.policy = settings(classes={"standard": {}})
    lines = as_text(offered(offer(filling, keep="off"))).splitlines()
    assert lines[4:8] == [
        f"  Free space  {UNKNOWN}",
        "  Takes       unknown: datasets.classes.standard.throughput_mib_per_tib is not set",
        "  Teams       team-a",
        "  Kept        until it is evicted",
    ]


@pytest.mark.parametrize(
    ("hard", "said"),
    [
        ({"requests.storage": "2Ti"}, "2 TiB of 2 TiB (ResourceQuota storage)"),
        (
            {"standard.storageclass.storage.k8s.io/requests.storage": "1Ti"},
            "1 TiB of 1 TiB (ResourceQuota storage)",
        ),
    ],
)
def test_quotas_say_what_is_free(filling: Filling, hard: dict[str, str], said: str) -> None:
    limit(filling, **hard)
    assert f"  Free space  {said}" in as_text(offered(offer(filling))).splitlines()


def test_a_cache_counts_before_its_volume(filling: Filling) -> None:
    limit(filling, **{"requests.storage": "400Gi"})
    filling.begin(offer(filling))
    filling.do(another)
    with pytest.raises(LimitError) as caught:
        filling.ask(reference=Reference("chest-xray", "v4"))
    assert caught.value.message == (
        "chest-xray@v4 needs 257 GiB on standard, but only 143 GiB of 400 GiB are free"
        " (ResourceQuota storage)."
    )
    assert (
        caught.value.hint == "`/dataset usage` shows what is cached there and what can be evicted."
    )


def another(session: Session) -> None:
    first = session.exec(select(Version)).one()
    changed = {"id": "f" * 32, "name": "v4", "digest": "sha256:" + 64 * "b"}
    session.add(Version(**(first.model_dump() | changed)))


def test_a_budget_is_kept_too(filling: Filling) -> None:
    filling.world.create("storageclasses", storage_class("spare"))
    assert refusal(filling, storage_class="spare", size=2**41) == (
        "chest-xray@v3 needs 2 TiB on spare, but only 1 TiB of 1 TiB are free (budget in"
        " quartermaster.yaml). `/dataset usage` shows what is cached there and what can be evicted."
    )


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"reference": Reference("chest-xry")}, (
            "There is no dataset chest-xry for team-a. Did you mean chest-xray?")),
        ({"reference": Reference("chest-xray", "v4")}, (
            "chest-xray has no version v4. Available: v3.")),
        ({"storage_class": "standart"}, (
            "Storage class standart is not used for caching. Did you mean standard?")),
        ({"storage_class": "spare"}, (
            "Cluster default has no storage class spare."
            " A platform admin must create it or remove it from datasets.classes.")),
        ({"size": 250 * 2**30}, (
            "250 GiB is too small: chest-xray@v3 has 627,615 files, 250 GB. With a tenth more kept"
            " free, it needs 257 GiB. Leave out --size to use the smallest volume that fits.")),
        ({"teams": ("team-c",)}, "There is no team team-c. Did you mean team-b?"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(filling: Filling, more: dict[str, Any], said: str) -> None:
    assert refusal(filling, **more) == said


def test_classes_of_disks_are_refused(filling: Filling) -> None:
    disk = storage_class("spare") | {"provisioner": "ebs.csi.aws.com", "parameters": {}}
    filling.world.create("storageclasses", disk)
    assert refusal(filling, storage_class="spare") == (
        "Volumes of storage class spare are for one node at a time (ReadWriteOnce), but a"
        " cache needs ReadWriteMany. Use a class for file storage such as NFS, not for"
        " disks, with --class."
    )


def test_keys_that_cannot_be_files_are_named(filling: Filling) -> None:
    change(filling, problems=3, keys=["a/../b", "/c"])
    assert refusal(filling) == (
        "3 keys of chest-xray@v3 cannot be stored as files: a/../b, /c and others. Rename"
        " or remove these"
        " objects, then record a new version; the manifest"
        " (s3://qm-state/prod/manifests/1/index.json) lists what is wrong with each."
    )


def test_a_small_volume_has_the_least_size(filling: Filling) -> None:
    change(filling, size_bytes=10)
    filling.policy = settings(classes={"standard": {"least_size": "100Gi"}})
    assert offer(filling).plan.capacity_bytes == 100 * 2**30
    assert refusal(filling, size=2**30) == (
        "1 GiB is too small: the smallest volume of this class is 100 GiB."
        " Leave out --size to use the smallest volume that fits."
    )


def test_strangers_to_a_dataset_get_none(filling: Filling) -> None:
    def close(session: Session) -> None:
        dataset = filling.service.find(session, "team-a", "chest-xray")
        dataset.readers = []
        session.add(dataset)

    filling.do(close)
    with pytest.raises(NotFoundError):
        filling.ask(BOB, TEAM_B)
    with pytest.raises(NotAllowedError) as caught:
        filling.ask(teams=("team-b",))
    assert caught.value.message == "team-b may not use chest-xray."


def test_without_classes_nothing_is_cached(filling: Filling) -> None:
    filling.policy = SETTINGS
    assert refusal(filling).startswith("Caching is not set up here.")


def test_several_classes_must_be_told_apart(filling: Filling) -> None:
    filling.policy = settings(default_class=None)
    assert refusal(filling) == (
        "Name a storage class: there are several. Add --class with one of: standard, spare."
    )


def test_asking_while_it_fills_joins(filling: Filling) -> None:
    cache_id = filling.cache()
    filling.pass_time(seconds=34)
    found = filling.ask(BOB, TEAM_B, keep=timedelta(days=3))
    assert isinstance(found, CacheFound)
    assert as_text(told(found, filling.words)) == (
        f"chest-xray@v3 is already being cached on standard, requested by @{ALICE}:"
        " 470,711 of 627,615 files copied.\n"
        "It is now also for team-b. Its card in this channel shows the progress."
    )
    cache = filling.found(cache_id)
    assert (cache.teams, cache.keep_seconds) == (["team-b"], 3 * 86_400)
    filling.pass_time(minutes=3)
    assert len(filling.notes(cache_id)) == 1


def test_asking_when_ready_counts_as_use(filling: Filling) -> None:
    cache_id = filling.cache()
    filling.pass_time(minutes=3)
    filling.leap(hours=5)
    found = filling.ask()
    assert isinstance(found, CacheFound)
    assert as_text(told(found, filling.words)).splitlines() == [
        (
            "chest-xray@v3 has been cached on standard since 2026-11-21 12:01 UTC:"
            " 627,615 files, 250 GB."
        ),
        "Runs read it under /data: `/train submit NAME --data chest-xray@v3:/data`",
        "It is kept 1d after its last use. This request counts as use.",
    ]
    assert filling.found(cache_id).used_at == filling.clock.now()


def test_a_cache_that_leaves_is_not_joined(filling: Filling) -> None:
    cache_id = filling.cache()

    def leave(session: Session) -> None:
        cache = session.get_one(Cache, cache_id)
        cache.wanted = CacheIntent.EVICT
        session.add(cache)

    filling.do(leave)
    with pytest.raises(ConflictError) as caught:
        filling.ask()
    assert caught.value.message == "chest-xray@v3 is being evicted from standard."
    filling.world.create("storageclasses", storage_class("spare", seconds=0))
    other = filling.cache(storage_class="spare")
    joined = filling.ask()
    assert isinstance(joined, CacheFound)
    assert joined.cache.id == other


def test_what_was_asked_is_in_the_audit(filling: Filling) -> None:
    cache_id = filling.cache(teams=("team-b",))
    (line,) = filling.do(lambda session: lines_about(session, cache_id))
    assert (line.verb, line.person, line.facts) == (
        "dataset.cache",
        ALICE,
        {
            "name": "chest-xray@v3",
            "class": "standard",
            "bytes": str(257 * 2**30),
            "teams": "team-b",
        },
    )


_OFFER = f"""\
Cache chest-xray@v3?
Nothing has started yet. Caching it takes:
  Copies      627,615 files, 250 GB ({SIZE:,} bytes)
  Volume      1 TiB on standard
  Free space  {UNKNOWN}
  Takes       4h 8m at best, at the throughput of the volume
  Teams       team-a, team-b
  Kept        1d after its last use
  [Cache it]"""
