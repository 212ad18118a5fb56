"""What deploy/ lets the bot do, given to it so that the API server knows of it at once.

The API server hears of roles and bindings by watches of its own: a moment after one was made it
still refuses, and on a busy machine for longer.
"""

import secrets
from collections.abc import Iterator
from pathlib import Path

import yaml

from tests.cluster.api import Api, Object, wait_for

BOT = "quartermaster"
BOT_USER = f"system:serviceaccount:{BOT}:{BOT}"
DEPLOYED = Path(__file__).parents[2] / "deploy" / "kubernetes"
BINDINGS = "rolebindings.rbac.authorization.k8s.io"
_GROUP = "rbac.authorization.k8s.io"
_ROLES, _REVIEWS = f"clusterroles.{_GROUP}", "subjectaccessreviews.authorization.k8s.io"


def deploy(api: Api, name: str) -> None:
    """Applies a file of deploy/kubernetes; returns when the bot may do what that lets it."""
    bodies = [*deployed(name)]
    for body in bodies:
        api.apply(body)
    for body in bodies:
        if body["kind"] in {"ClusterRoleBinding", "RoleBinding"}:
            _wait_until_heeded(api, body)


def deployed(name: str) -> Iterator[Object]:
    """The objects of a file of deploy/kubernetes."""
    yield from yaml.safe_load_all((DEPLOYED / name).read_text("utf-8"))


def let_bot_into(api: Api, namespace: str, role: str) -> None:
    """Gives the bot a role in a namespace; returns when it may do what that says."""
    # A name of its own, so that one which is there no more is not taken for it.
    metadata = {"name": f"{role}-{secrets.token_hex(3)}", "namespace": namespace}
    binding = {
        "metadata": metadata,
        "roleRef": {"apiGroup": _GROUP, "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": BOT, "namespace": BOT}],
    }
    api.create(BINDINGS, binding, namespace)
    _wait_until_heeded(api, binding)


def _wait_until_heeded(api: Api, binding: Object) -> None:
    """Returns when the first right of its role is granted, and by this binding."""
    role = api.get(_ROLES, binding["roleRef"]["name"])
    assert role is not None, binding["roleRef"]
    rule, metadata = role["rules"][0], binding["metadata"]
    resource, _, subresource = rule["resources"][0].partition("/")
    attributes = {
        "namespace": metadata.get("namespace", ""),
        "verb": rule["verbs"][0],
        "group": rule["apiGroups"][0],
        "resource": resource,
        "subresource": subresource,
    }
    review = {"spec": {"user": BOT_USER, "resourceAttributes": attributes}}
    place = "/".join(filter(None, [metadata["name"], metadata.get("namespace")]))

    def is_heeded() -> bool:
        status = api.create(_REVIEWS, review)["status"]
        return bool(status["allowed"]) and f'Binding "{place}"' in status["reason"]

    wait_for(is_heeded, f"what {metadata['name']} lets the bot do")
