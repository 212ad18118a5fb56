"""What the API serves, as clients discover it."""

from typing import Any

from playground.cluster.objects.errors import no_such_path
from playground.cluster.objects.kinds import Kind, Kinds, Object

VISIBILITY = "visibility.kueue.x-k8s.io"
_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
REVIEWS = {
    "authentication.k8s.io": ("SelfSubjectReview",),
    "authorization.k8s.io": ("SelfSubjectAccessReview", "SelfSubjectRulesReview"),
}
VERSION = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.0",
    "gitCommit": "0000000000000000000000000000000000000000",
    "gitTreeState": "clean",
    "buildDate": "2026-04-22T00:00:00Z",
    "goVersion": "go1.26.1",
    "compiler": "gc",
    "platform": "linux/amd64",
}


def discover(kinds: Kinds, path: str, *, visibility: tuple[str, ...]) -> Object | None:
    """The discovery document at a path, or None if the path is no discovery path.

    `visibility` are the served versions of Kueue's visibility API.
    """
    parts = [part for part in path.split("/") if part]
    match parts:
        case ["version"]:
            return dict(VERSION)
        case ["api"]:
            return {
                "kind": "APIVersions",
                "versions": ["v1"],
                "serverAddressByClientCIDRs": [],
            }
        case ["apis"]:
            return {
                "kind": "APIGroupList",
                "apiVersion": "v1",
                "groups": list(_groups(kinds, visibility).values()),
            }
        case ["apis", group]:
            found = _groups(kinds, visibility).get(group)
            if found is None:
                raise no_such_path()
            return {"kind": "APIGroup", "apiVersion": "v1", **found}
        case ["api", "v1"]:
            return _resources(kinds, "", "v1", visibility)
        case ["apis", group, version]:
            return _resources(kinds, group, version, visibility)
        case _:
            return None


def _groups(kinds: Kinds, visibility: tuple[str, ...]) -> dict[str, Object]:
    versions: dict[str, list[str]] = {}
    for kind in kinds:
        if kind.group:
            known = versions.setdefault(kind.group, [])
            known += [version for version in kind.versions if version not in known]
    versions |= {each: ["v1"] for each in REVIEWS}
    if visibility:
        versions[VISIBILITY] = list(visibility)
    return {name: _group(name, served) for name, served in versions.items()}


def _group(name: str, versions: list[str]) -> Object:
    rows = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": rows, "preferredVersion": rows[0]}


def _resources(kinds: Kinds, group: str, version: str, visibility: tuple[str, ...]) -> Object:
    rows: list[dict[str, Any]] = []
    for kind in kinds:
        if kind.group == group and version in kind.versions:
            rows += _rows(kind)
    if group in REVIEWS:
        rows = [_review(name) for name in REVIEWS[group]]
    if group == VISIBILITY and version in visibility:
        rows = [
            _pending("clusterqueues", namespaced=False),
            _pending("localqueues", namespaced=True),
        ]
    if not rows:
        raise no_such_path()
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{group}/{version}" if group else version,
        "resources": rows,
    }


def _rows(kind: Kind) -> list[dict[str, Any]]:
    row: dict[str, Any] = {
        "name": kind.plural,
        "singularName": kind.kind.lower(),
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": _VERBS,
    }
    if kind.short:
        row["shortNames"] = list(kind.short)
    if kind.plural == "pods":
        row["categories"] = ["all"]
    parts = [
        {
            "name": f"{kind.plural}/{part}",
            "singularName": "",
            "namespaced": kind.namespaced,
            "kind": {"scale": "Scale", "eviction": "Eviction"}.get(part, kind.kind),
            "verbs": {"log": ["get"], "eviction": ["create"]}.get(part, ["get", "patch", "update"]),
        }
        for part in kind.subresources
    ]
    return [row, *parts]


def _review(kind: str) -> dict[str, Any]:
    return {
        "name": f"{kind.lower()}s",
        "singularName": kind.lower(),
        "namespaced": False,
        "kind": kind,
        "verbs": ["create"],
    }


def _pending(plural: str, *, namespaced: bool) -> dict[str, Any]:
    return {
        "name": f"{plural}/pendingworkloads",
        "singularName": "",
        "namespaced": namespaced,
        "kind": "PendingWorkloadsSummary",
        "verbs": ["get"],
    }
