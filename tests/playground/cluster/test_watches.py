import json
from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from tests.playground.cluster.served import MAPS, Object, Served, config_map

Events = Iterator[tuple[str, Object]]


@contextmanager
def watching(served: Served, path: str = MAPS, **params: str) -> Iterator[Events]:
    query = {"watch": "true", "timeoutSeconds": "5", **params}
    with served.bot.stream("GET", path, params=query) as response:
        yield events(response)


def events(response: httpx.Response) -> Events:
    for line in response.iter_lines():
        event = json.loads(line)
        yield event["type"], event["object"]


def told(stream: Events, count: int) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    while len(found) < count:
        word, obj = next(stream)
        found.append((word, obj["metadata"]["name"]))
    return found


def version(served: Served) -> str:
    found: str = served.get(MAPS)["metadata"]["resourceVersion"]
    return found


def test_watch_without_version_begins_with_what_is_there(served: Served) -> None:
    with watching(served) as stream:
        assert told(stream, 1) == [("ADDED", "kube-root-ca.crt")]
        served.post(MAPS, config_map("settings"))
        assert told(stream, 1) == [("ADDED", "settings")]


def test_watch_from_version_replays_what_was_missed(served: Served) -> None:
    since = version(served)
    served.post(MAPS, config_map("settings", a="1"))
    served.patch(f"{MAPS}/settings", {"data": {"a": "2"}})
    served.admin.delete(f"{MAPS}/settings")
    with watching(served, resourceVersion=since) as stream:
        assert told(stream, 3) == [
            ("ADDED", "settings"),
            ("MODIFIED", "settings"),
            ("DELETED", "settings"),
        ]


def test_deleted_event_carries_a_newer_version(served: Served) -> None:
    made = served.post(MAPS, config_map("settings"))
    since = made["metadata"]["resourceVersion"]
    served.admin.delete(f"{MAPS}/settings")
    with watching(served, resourceVersion=since) as stream:
        _, last = next(stream)
    assert int(last["metadata"]["resourceVersion"]) > int(since)


def test_leaving_a_selector_looks_like_deletion(served: Served) -> None:
    since = version(served)
    with watching(served, labelSelector="tier=gold", resourceVersion=since) as stream:
        served.post(MAPS, {"metadata": {"name": "one", "labels": {"tier": "iron"}}})
        served.patch(f"{MAPS}/one", {"metadata": {"labels": {"tier": "gold"}}})
        served.patch(f"{MAPS}/one", {"metadata": {"labels": {"tier": "iron"}}})
        assert told(stream, 2) == [("ADDED", "one"), ("DELETED", "one")]


def test_watch_ends_at_its_time_limit(served: Served) -> None:
    query = {"watch": "1", "timeoutSeconds": "1", "resourceVersion": version(served)}
    answer = served.bot.get(MAPS, params=query)
    assert (answer.status_code, answer.text) == (200, "")


def test_bookmarks_come_when_they_are_allowed(served: Served) -> None:
    served.cluster.app.bookmark_seconds = 0.05
    since = version(served)
    with watching(served, resourceVersion=since, allowWatchBookmarks="true") as stream:
        served.post("/api/v1/namespaces/team-a/secrets", {"metadata": {"name": "other"}})
        word, obj = next(stream)
        while obj["metadata"]["resourceVersion"] == since:
            word, obj = next(stream)
    assert (word, obj["kind"]) == ("BOOKMARK", "ConfigMap")
    assert set(obj) == {"kind", "apiVersion", "metadata"}


def test_initial_events_end_with_a_marked_bookmark(served: Served) -> None:
    params = {
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
    }
    with watching(served, **params) as stream:
        first, _ = next(stream)
        word, obj = next(stream)
    assert (first, word) == ("ADDED", "BOOKMARK")
    assert obj["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_watch_from_compacted_version_is_gone(served: Served) -> None:
    since = version(served)
    served.post(MAPS, config_map("settings"))
    served.cluster.compact()
    with watching(served, resourceVersion=since) as stream:
        word, status = next(stream)
        assert list(stream) == []
    assert (word, status["code"], status["reason"]) == ("ERROR", 410, "Expired")
    assert status["message"].startswith("too old resource version: ")


def test_one_watch_can_be_answered_with_gone(served: Served) -> None:
    served.cluster.faults.gone_watches = 1
    since = version(served)
    with watching(served, resourceVersion=since) as stream:
        assert next(stream)[1]["code"] == 410
    with watching(served, resourceVersion=since) as stream:
        served.post(MAPS, config_map("settings"))
        assert told(stream, 1) == [("ADDED", "settings")]


def test_cut_watch_ends_in_the_middle(served: Served) -> None:
    with watching(served) as stream:
        told(stream, 1)
        assert served.cluster.faults.cut_watches() == 1
        try:
            rest = list(stream)
        except httpx.RemoteProtocolError:
            rest = []
    assert rest == []


def test_watch_of_one_object_ignores_others(served: Served) -> None:
    served.post(MAPS, config_map("settings"))
    fields = {"fieldSelector": "metadata.name=settings", "resourceVersion": version(served)}
    with watching(served, **fields) as stream:
        served.post(MAPS, config_map("other"))
        served.admin.delete(f"{MAPS}/settings")
        assert told(stream, 1) == [("DELETED", "settings")]
