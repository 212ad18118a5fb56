"""The view: immutable, indexed, cheap to change."""

from collections.abc import Iterable

import pytest

from bot.cluster import labels
from bot.cluster.resources import EVENTS, JOBS, PODS, WORKLOADS
from bot.cluster.types.objects import OwnerReference, Pod, PodMeta
from bot.cluster.view import Store, View


def pod(
    name: str, version: str = "1", *, namespace: str = "team-a", run: str = "", owner: str = ""
) -> Pod:
    return Pod(
        metadata=PodMeta(
            name=name,
            namespace=namespace,
            resource_version=version,
            labels={labels.RUN: run, "colour": run} if run else {},
            owner_references=(OwnerReference(uid=owner),) if owner else (),
        )
    )


def names(objects: Iterable[Pod]) -> list[str]:
    return [each.name for each in objects]


@pytest.fixture
def view() -> View:
    return View([PODS, JOBS])


@pytest.fixture
def store(view: View) -> Store[Pod]:
    return view.store(PODS)


def test_what_was_read_before_never_changes(view: View, store: Store[Pod]) -> None:
    store.put(pod("a", run="1", owner="o"))
    before = (view.all(PODS), view.owned_by(PODS, "o"), view.labelled(PODS, labels.RUN, "1"))
    store.put(pod("b", run="1", owner="o"))
    store.remove(pod("a"))
    assert [names(each) for each in before] == [["a"], ["a"], ["a"]]
    assert names(view.all(PODS)) == ["b"]


def test_a_change_is_seen_at_once(view: View, store: Store[Pod]) -> None:
    assert view.all(PODS) == ()
    assert store.put(pod("a", "1")) == "added"
    assert names(view.all(PODS)) == ["a"]
    assert store.put(pod("a", "2")) == "modified"
    found = view.get(PODS, "a", "team-a")
    assert found is not None
    assert found.metadata.resource_version == "2"
    assert store.put(pod("a", "2")) is None
    assert store.remove(pod("a")) == "deleted"
    assert store.remove(pod("a")) is None
    assert view.get(PODS, "a", "team-a") is None


def test_unchanged_objects_are_read_without_copying(view: View, store: Store[Pod]) -> None:
    store.put(pod("a"))
    assert view.all(PODS) is view.all(PODS)


def test_namespaces_are_kept_apart(view: View, store: Store[Pod]) -> None:
    store.replace([pod("a"), pod("a", namespace="team-b")])
    assert len(view.all(PODS)) == 2
    assert [each.namespace for each in view.all(PODS, "team-b")] == ["team-b"]
    assert view.get(PODS, "a") is None


def test_a_change_elsewhere_makes_no_list_again(view: View, store: Store[Pod]) -> None:
    store.replace([pod("a"), pod("b"), pod("a", namespace="team-b")])
    before = view.all(PODS, "team-a")
    store.put(pod("a", "2", namespace="team-b"))
    store.remove(pod("a", namespace="team-b"))
    assert view.all(PODS, "team-a") is before
    store.remove(pod("a"))
    assert names(view.all(PODS, "team-a")) == names(view.all(PODS)) == ["b"]


def test_owners_and_run_labels_are_indexed(view: View, store: Store[Pod]) -> None:
    store.replace([pod("a", run="1", owner="o"), pod("b", run="1"), pod("c", owner="o")])
    assert names(view.owned_by(PODS, "o")) == ["a", "c"]
    assert names(view.labelled(PODS, labels.RUN, "1")) == ["a", "b"]
    assert names(view.labelled(PODS, "colour", "1")) == ["a", "b"]
    store.put(pod("a", "2", run="2", owner="p"))
    assert names(view.owned_by(PODS, "o")) == ["c"]
    assert names(view.labelled(PODS, labels.RUN, "1")) == ["b"]
    assert names(view.labelled(PODS, labels.RUN, "2")) == ["a"]
    store.remove(pod("c"))
    assert view.owned_by(PODS, "o") == ()


def test_a_list_tells_how_it_differs(store: Store[Pod]) -> None:
    store.replace([pod("a"), pod("b"), pod("c")])
    differences = store.replace([pod("a"), pod("b", "2"), pod("d")])
    assert [(kind, each.name) for kind, each in differences] == [
        ("modified", "b"),
        ("added", "d"),
        ("deleted", "c"),
    ]


def test_a_name_taken_anew_is_a_change(store: Store[Pod]) -> None:
    store.replace([pod("a", "5")])
    assert store.put(pod("a", "9")) == "modified"


def test_age_counts_from_the_servers_last_word() -> None:
    seconds = [100.0]
    view = View([PODS], lambda: seconds[0])
    assert view.age_seconds(PODS) == float("inf")
    store = view.store(PODS)
    store.prove()
    assert view.age_seconds(PODS) == float("inf")
    store.replace([])
    seconds[0] = 107.5
    assert view.age_seconds(PODS) == 7.5


def test_synced_when_all_that_is_served_was_read() -> None:
    view = View([PODS, WORKLOADS])
    assert not view.synced
    view.store(PODS).replace([])
    assert not view.synced
    view.store(WORKLOADS).absent = True
    assert view.synced


def test_a_resource_nobody_watches_is_an_error(view: View) -> None:
    with pytest.raises(KeyError):
        view.all(EVENTS)
