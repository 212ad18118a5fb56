"""Kinds of others whose definitions are nowhere to be had, made by hand for tests."""

from tests.cluster.api import Api, Object, wait_for
from tests.cluster.site import Site

_DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
_ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def define(api: Api, site: Site, group: str, plural: str, kind: str) -> str:
    """Has the cluster serve v1 of a kind with any fields; its name as the tests spell it."""
    name = f"{plural}.{group}"
    version: Object = {"name": "v1", "served": True, "storage": True}
    version["schema"] = {"openAPIV3Schema": _ANYTHING}
    names = {"plural": plural, "singular": kind.lower(), "kind": kind}
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
    site.add(_DEFINITIONS, {"metadata": {"name": name}, "spec": spec})
    wait_for(lambda: api.serves(name), f"{kind} of {group}")
    return name
