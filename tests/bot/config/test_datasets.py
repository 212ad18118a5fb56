"""What quartermaster.yaml may say of datasets and stores, and what people read when it is wrong."""

from datetime import timedelta
from pathlib import Path

import pytest

from tests.bot.config.files import GOOD, load, refusal

DATASETS = """\
stores:
  lake:
    secret: lake-keys
    places: {team-a: [s3://lake/]}
datasets:
  namespace: datasets
  image: ghcr.io/acme/quartermaster:0.1.0
  state: s3://qm-state/datasets
  state_store: lake
"""
FOLDER = "{file_system: fs-0123456789abcdef0, repository: s3://lake, path: /lake}"


def test_stores_and_datasets_have_sensible_defaults(tmp_path: Path) -> None:
    settings = load(tmp_path, GOOD + DATASETS)
    store, datasets = settings.stores["lake"], settings.datasets
    assert (store.endpoint, store.region, store.path_style) == (None, "us-east-1", False)
    assert datasets is not None
    assert (datasets.state, datasets.cluster) == ("s3://qm-state/datasets/", "default")
    assert (datasets.uid, datasets.gid) == (10001, 10001)


def test_caches_stay_a_day_unless_told(tmp_path: Path) -> None:
    settings = load(tmp_path, GOOD + DATASETS)
    assert settings.keep_caches("team-a") == timedelta(days=1)
    longer = GOOD + DATASETS + "  keep: 3d\n"
    assert load(tmp_path, longer).keep_caches("team-a") == timedelta(days=3)
    for_ever = GOOD + DATASETS + "  keep: off\n"
    assert load(tmp_path, for_ever).keep_caches("team-a") is None
    own = GOOD.replace("    namespace: team-a", "    namespace: team-a\n    keep_caches: 2h", 1)
    assert load(tmp_path, own + DATASETS).keep_caches("team-a") == timedelta(hours=2)


def test_a_class_for_caches_has_sizes(tmp_path: Path) -> None:
    sizes = "{throughput_mib_per_tib: 16, budget: 20Ti, least_size: 50Gi}"
    classes = f"  classes:\n    anf.standard: {sizes}\n"
    datasets = load(tmp_path, GOOD + DATASETS + classes).datasets
    assert datasets is not None
    found = datasets.classes["anf.standard"]
    assert (found.budget, found.least_size) == (20 * 2**40, 50 * 2**30)
    dumped = found.model_dump()
    assert (dumped["budget"], dumped["least_size"]) == ("20Ti", "50Gi")
    assert type(found).model_validate(dumped) == found
    assert (found.throughput_mib_per_tib, found.watermark_percent) == (16, None)


EAST = """\
  classes: {anf: {budget: 20Ti}}
  clusters:
    east:
      namespace: datasets-east
      classes: {nfs: {budget: 2Ti}, fast: {}}
      default_class: nfs
"""
TWO = GOOD + "clusters: {default: {}, east: {}}\n"


def test_each_cluster_has_its_own_classes(tmp_path: Path) -> None:
    datasets = load(tmp_path, TWO + DATASETS + EAST).datasets
    assert datasets is not None
    assert (datasets.caching, datasets.at("default")) == (("default", "east"), datasets)
    east = datasets.at("east")
    assert (east.cluster, east.namespace, east.default_class) == ("east", "datasets-east", "nfs")
    assert (list(east.classes), east.image) == (["nfs", "fast"], datasets.image)
    assert [datasets.cluster_for(each) for each in (("east",), ("default", "east"), ("lab",))] == [
        *("east", "default", "default")
    ]


def test_one_cluster_is_never_named_in_messages(tmp_path: Path) -> None:
    alone = load(tmp_path, TWO + DATASETS + "  classes: {anf: {}}\n").datasets
    assert alone is not None
    assert (alone.caching, alone.named("default")) == (("default",), "")
    both = load(tmp_path, TWO + DATASETS + EAST).datasets
    assert both is not None
    assert [both.named(each) for each in ("default", "east")] == ["default", "east"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "    east:\n      namespace",
            "    default:\n      namespace",
            (
                "quartermaster.yaml line 21: default is datasets.cluster; its classes belong in"
                " datasets.classes. Move them there."
            ),
        ),
        (
            "    east:\n      namespace",
            "    eats:\n      namespace",
            "quartermaster.yaml line 21: eats is not in clusters; did you mean east?",
        ),
        (
            "default_class: nfs",
            "default_class: anf",
            (
                "quartermaster.yaml line 24: anf is not in datasets.clusters.east.classes; did you"
                " mean nfs?"
            ),
        ),
        (
            "namespace: datasets-east",
            "namespace: team-a",
            (
                "quartermaster.yaml line 22: team-a is the namespace of team-a, whose runs could"
                " read the keys of stores; use a namespace for nothing else."
            ),
        ),
        (
            "fast: {}",
            f"fast: {{fsx: {FOLDER}}}",
            (
                "quartermaster.yaml line 23: FSx is only used in datasets.cluster. Move this class"
                " to datasets.classes, or remove fsx."
            ),
        ),
        (
            "classes: {nfs: {budget: 2Ti}, fast: {}}\n      default_class: nfs",
            "classes: {}",
            (
                "quartermaster.yaml line 23: datasets.clusters.east has no classes; name those of"
                " that cluster, like classes: {nfs: {budget: 2Ti}}."
            ),
        ),
    ],
)
def test_contradictions_of_clusters_name_the_way(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert refusal(tmp_path, (TWO + DATASETS + EAST).replace(old, new)) == message


def test_a_store_serves_nobody_unless_told(tmp_path: Path) -> None:
    settings = load(tmp_path, GOOD + "stores: {lake: {}}\n")
    assert settings.stores["lake"].places == {}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "places: {team-a: [s3://lake/]}",
            "places: {team-x: [s3://lake/]}",
            "quartermaster.yaml line 12: there is no team team-x; did you mean team-a?",
        ),
        (
            "state_store: lake",
            "state_store: lak",
            "quartermaster.yaml line 17: lak is not in stores; did you mean lake?",
        ),
        (
            "  namespace: datasets",
            "  namespace: datasets\n  cluster: lab",
            "quartermaster.yaml line 15: lab is not in clusters; choose one of: default.",
        ),
        (
            "namespace: datasets",
            "namespace: team-a",
            (
                "quartermaster.yaml line 14: team-a is the namespace of team-a, whose runs could"
                " read the keys of stores; use a namespace for nothing else."
            ),
        ),
        (
            "state: s3://qm-state/datasets",
            "state: qm-state",
            (
                'quartermaster.yaml line 16: datasets.state is "qm-state"; it must be a bucket,'
                " optionally with a folder in it, like s3://quartermaster-state/datasets."
            ),
        ),
        (
            "secret: lake-keys",
            "endpoint: https://me:secret@grid.example.com",
            (
                "quartermaster.yaml line 11: this address contains a password;"
                " put the keys of stores into a Secret."
            ),
        ),
        (
            "  state_store: lake\n",
            "  state_store: lake\n  keep: 3\n",
            (
                "quartermaster.yaml line 18: datasets.keep is 3;"
                " it must be a duration like 8h or 3d, or off."
            ),
        ),
        (
            "  state_store: lake\n",
            "  state_store: lake\n  classes: {fast: {budget: 3TB}}\n",
            (
                'quartermaster.yaml line 18: datasets.classes.fast.budget is "3TB";'
                " it must be a size with a unit, like 500Gi or 20Ti."
            ),
        ),
        (
            "  state_store: lake\n",
            "  state_store: lake\n  default_class: slow\n  classes: {fast: {}}\n",
            "quartermaster.yaml line 18: slow is not in datasets.classes; choose one of: fast.",
        ),
        (
            "  state_store: lake\n",
            f"  state_store: lake\n  classes: {{lustre: {{fsx: {FOLDER}}}}}\n",
            (
                "quartermaster.yaml line 18: datasets.fsx is missing; set the region: fsx:"
                " {region: eu-central-1}"
            ),
        ),
        (
            "  state_store: lake\n",
            (
                "  state_store: lake\n  fsx: {region: eu-central-1}\n"
                f"  classes: {{lustre: {{least_size: 1Ti, fsx: {FOLDER}}}}}\n"
            ),
            (
                "quartermaster.yaml line 19: least_size is for classes that create a volume for"
                " each cache; remove it with fsx."
            ),
        ),
        (
            "  image: ghcr.io/acme/quartermaster:0.1.0\n",
            "",
            (
                "quartermaster.yaml line 13: datasets needs image."
                " The bot's own image, which the pods there run."
            ),
        ),
    ],
)
def test_each_mistake_is_named_with_its_line(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert refusal(tmp_path, GOOD + DATASETS.replace(old, new)) == message
