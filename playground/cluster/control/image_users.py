"""Which user an image runs as, and what the kubelet says where that must not be root."""

from collections.abc import Mapping
from typing import Any

from playground.cluster.objects.kinds import Object

# What the images of JupyterLab name; most others name nobody, and so run as root.
KNOWN = {"jupyter/": "1000"}


def root_problem(pod: Object, container: Mapping[str, Any], users: Mapping[str, str]) -> str:
    """What the kubelet says instead of starting a container as root; empty where it may start.

    As kubernetes/pkg/kubelet/kuberuntime/security_context_others.go has it.
    """
    if not _effective(pod, container, "runAsNonRoot"):
        return ""
    where = f'(pod: "{_pod(pod)}", container: {container["name"]})'
    user = _effective(pod, container, "runAsUser")
    if user is not None:
        return "" if user else f"container's runAsUser breaks non-root policy {where}"
    named = user_of(container["image"], users)
    if named and not named.isdigit():
        return (
            f"container has runAsNonRoot and image has non-numeric user ({named}), cannot verify"
            f" user is non-root {where}"
        )
    is_root = not int(named or "0")
    return f"container has runAsNonRoot and image will run as root {where}" if is_root else ""


def user_of(image: str, users: Mapping[str, str]) -> str:
    """The user that an image names, by its number or its name; empty where it names none."""
    found = (user for part, user in users.items() if part in image)
    return next(found, "").partition(":")[0]


def _effective(pod: Object, container: Mapping[str, Any], field: str) -> Any:
    own = (container.get("securityContext") or {}).get(field)
    return (pod["spec"].get("securityContext") or {}).get(field) if own is None else own


def _pod(pod: Object) -> str:
    metadata = pod["metadata"]
    return f"{metadata['name']}_{metadata['namespace']}({metadata['uid']})"
