"""The security context of the containers of a run, from the team's admission policy."""

from collections.abc import Collection

from bot.config import Admission
from bot.training.kinds.kind import Manifest
from bot.training.spec import RunSpec, Security

USER, IMAGE = 1000, "image"
# The name of a user that only its number is known of, and where it may write.
NAME, HOME = "runner", "/home/runner"
_VOLUME = "home"


def security_of(policy: Admission, *, privileged: bool) -> Security | None:
    """The current security settings of a team for a run; None if the image decides.

    A privileged run may do everything on its node, as any user.
    """
    restricted = policy.security == "restricted"
    if privileged:
        return None
    said = policy.run_as_user or (USER if restricted else IMAGE)
    user = None if said == IMAGE else int(said)
    group = user if policy.run_as_group is None else policy.run_as_group
    files = group if policy.fs_group is None else policy.fs_group
    made = Security(restricted=restricted, user=user, group=group, fs_group=files)
    return None if made == Security() else made


def secure(pod: Manifest, spec: RunSpec) -> None:
    """Gives a pod and its only container the security context of the run, and its user a home."""
    security = spec.security
    if security is None:
        return
    pod["securityContext"] = _of_pod(security)
    (container,) = pod["containers"]
    if security.restricted:
        container["securityContext"] = {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        }
    if security.user is not None:
        _house(pod, container)


def is_no_root(spec: RunSpec) -> bool:
    """Whether its user cannot be root."""
    security = spec.security
    return security is not None and (security.restricted or security.user is not None)


def is_housed(spec: RunSpec) -> bool:
    """Whether its user is a number without a name and a home in the image."""
    return spec.security is not None and spec.security.user is not None


def _of_pod(security: Security) -> Manifest:
    context: Manifest = {}
    if security.restricted:
        context = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    ids = {
        "runAsUser": security.user,
        "runAsGroup": security.group,
        "fsGroup": security.fs_group,
    }
    context |= {name: number for name, number in ids.items() if number is not None}
    if security.fs_group is not None:
        # To look through half a million files at each start, only to change none, takes minutes.
        context["fsGroupChangePolicy"] = "OnRootMismatch"
    return context


def _house(pod: Manifest, container: Manifest) -> None:
    """Programs keep caches at home, and PyTorch asks for the user's name; images know neither.

    The folder is there also where HOME is another one: ssh goes by the user's entry.
    """
    told: Collection[str] = {each["name"] for each in container["env"]}
    wanted = {"HOME": HOME, "USER": NAME}
    container["env"] = [
        *({"name": name, "value": value} for name, value in wanted.items() if name not in told),
        *container["env"],
    ]
    mounted = {each["mountPath"].rstrip("/") for each in container["volumeMounts"]}
    if HOME in mounted:
        return
    pod["volumes"].append({"name": _VOLUME, "emptyDir": {}})
    container["volumeMounts"].append({"name": _VOLUME, "mountPath": HOME})
