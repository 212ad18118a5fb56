"""Pod Security admission: what each level refuses, in the words of k8s.io/pod-security-admission.

Checked are the fields of Linux pods at the version `latest`; windowsOptions and annotations of old
versions are not.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from playground.cluster.objects.kinds import Object

BASELINE, RESTRICTED = "baseline", "restricted"
_CAPABILITIES = frozenset(
    [
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    ]
)
_SELINUX_TYPES = frozenset({"", "container_t", "container_init_t", "container_kvm_t",
                            "container_engine_t"})  # fmt: skip
_VOLUMES = frozenset({"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image",
                      "persistentVolumeClaim", "projected", "secret"})  # fmt: skip
_SYSCTLS = frozenset(
    [
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.ping_group_range",
        "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.ip_local_reserved_ports",
        "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
        "net.ipv4.tcp_rmem",
        "net.ipv4.tcp_wmem",
    ]
)
_CONFINED = ("RuntimeDefault", "Localhost")


@dataclass(frozen=True)
class Pod:
    """The parts of a pod's spec that the levels look at."""

    spec: Object

    @property
    def context(self) -> Object:
        """What the pod says for all its containers."""
        return self.spec.get("securityContext") or {}

    def containers(self) -> Iterator[tuple[str, Object, Object]]:
        """Name, security context and the whole of each container, those that prepare first."""
        for part in ("initContainers", "containers", "ephemeralContainers"):
            for each in self.spec.get(part) or ():
                yield each["name"], each.get("securityContext") or {}, each

    def naming(self, fits: Callable[[Object, Object], Any]) -> list[str]:
        """The names of the containers of which that is so."""
        return [name for name, context, whole in self.containers() if fits(context, whole)]


Check = Callable[[Pod], str | None]


def violations(level: str, spec: Object) -> str:
    """What a level refuses of a pod, as its message ends; empty where it lets the pod in."""
    found = (check(Pod(spec)) for check in _CHECKS.get(level, ()))
    return ", ".join(each for each in found if each)


def _app_armor(pod: Pod) -> str | None:
    setters, values = _settings(pod, "appArmorProfile", "type", _CONFINED)
    if not setters:
        return None
    reason = _many("forbidden AppArmor profile", values)
    told = f"{' and '.join(setters)} must not set AppArmor profile type to {_quoted(values)}"
    return f"{reason} ({told})"


def _baseline_capabilities(pod: Pod) -> str | None:
    added = _added(pod, _CAPABILITIES)
    if not added[0]:
        return None
    told = f"{_of(added[0])} must not include {_quoted(added[1])}"
    return f"non-default capabilities ({told} in securityContext.capabilities.add)"


def _host_namespaces(pod: Pod) -> str | None:
    asked = [name for name in ("hostNetwork", "hostPID", "hostIPC") if pod.spec.get(name)]
    told = ", ".join(f"{name}=true" for name in asked)
    return f"host namespaces ({told})" if asked else None


def _host_paths(pod: Pod) -> str | None:
    paths = [each["name"] for each in pod.spec.get("volumes") or () if "hostPath" in each]
    return f"hostPath volumes ({_many('volume', paths)} {_quoted(paths)})" if paths else None


def _host_ports(pod: Pod) -> str | None:
    def ports(whole: Object) -> list[int]:
        return [each["hostPort"] for each in whole.get("ports") or () if each.get("hostPort")]

    users = pod.naming(lambda _context, whole: ports(whole))
    if not users:
        return None
    found = sorted({str(port) for _, _, whole in pod.containers() for port in ports(whole)})
    verb = "uses" if len(users) == 1 else "use"
    return f"hostPort ({_of(users)} {verb} {_many('hostPort', found)} {', '.join(found)})"


def _host_probes(pod: Pod) -> str | None:
    users = sorted(pod.naming(lambda _context, whole: _probed_hosts(whole)))
    if not users:
        return None
    hosts = sorted({host for _, _, whole in pod.containers() for host in _probed_hosts(whole)})
    verb = "uses" if len(users) == 1 else "use"
    told = f"{_of(users)} {verb} {_many('probe or lifecycle host', hosts)} {_quoted(hosts)}"
    return f"probe or lifecycle host ({told})"


def _privileged(pod: Pod) -> str | None:
    bad = pod.naming(lambda context, _whole: context.get("privileged"))
    return f"privileged ({_of(bad)} must not set securityContext.privileged=true)" if bad else None


def _proc_mount(pod: Pod) -> str | None:
    def mount(context: Object) -> str:
        return str(context.get("procMount") or "Default")

    bad = pod.naming(lambda context, _whole: mount(context) != "Default")
    if not bad:
        return None
    types = sorted({mount(context) for _, context, _ in pod.containers()} - {"Default"})
    return f"procMount ({_of(bad)} must not set securityContext.procMount to {_quoted(types)})"


def _baseline_proc_mount(pod: Pod) -> str | None:
    return None if pod.spec.get("hostUsers") is False else _proc_mount(pod)


def _selinux(pod: Pod) -> str | None:
    def is_bad(context: Object) -> bool:
        options = context.get("seLinuxOptions") or {}
        is_known = options.get("type", "") in _SELINUX_TYPES
        return not is_known or bool(options.get("user") or options.get("role"))

    setters = _setters(pod, is_bad)
    if not setters:
        return None
    contexts = [pod.context, *(context for _, context, _ in pod.containers())]
    options = [context.get("seLinuxOptions") or {} for context in contexts]
    types = sorted({each.get("type", "") for each in options} - _SELINUX_TYPES)
    bad = [f"{_many('type', types)} {_quoted(types)}"] if types else []
    bad += [f"{key} may not be set" for key in ("user", "role") if any(e.get(key) for e in options)]
    told = f"{' and '.join(setters)} set forbidden securityContext.seLinuxOptions: "
    return f"seLinuxOptions ({told}{'; '.join(bad)})"


def _baseline_seccomp(pod: Pod) -> str | None:
    setters, values = _settings(pod, "seccompProfile", "type", _CONFINED)
    if not setters:
        return None
    told = "must not set securityContext.seccompProfile.type to"
    return f"seccompProfile ({' and '.join(setters)} {told} {_quoted(values)})"


def _sysctls(pod: Pod) -> str | None:
    names = [each["name"] for each in pod.context.get("sysctls") or ()]
    bad = [name for name in names if name not in _SYSCTLS]
    return f"forbidden sysctls ({', '.join(bad)})" if bad else None


def _escalation(pod: Pod) -> str | None:
    bad = pod.naming(lambda context, _: context.get("allowPrivilegeEscalation") is not False)
    told = "must set securityContext.allowPrivilegeEscalation=false"
    return f"allowPrivilegeEscalation != false ({_of(bad)} {told})" if bad else None


def _restricted_capabilities(pod: Pod) -> str | None:
    def dropped(context: Object) -> list[str]:
        return list((context.get("capabilities") or {}).get("drop") or ())

    keeping = pod.naming(lambda context, _whole: "ALL" not in dropped(context))
    adding, added = _added(pod, frozenset({"NET_BIND_SERVICE"}))
    told = [f'{_of(keeping)} must set securityContext.capabilities.drop=["ALL"]'] if keeping else []
    if adding:
        names = _quoted(added)
        told.append(f"{_of(adding)} must not include {names} in securityContext.capabilities.add")
    return f"unrestricted capabilities ({'; '.join(told)})" if told else None


def _restricted_volumes(pod: Pod) -> str | None:
    volumes = [v for v in pod.spec.get("volumes") or () if not _VOLUMES.intersection(v)]
    if not volumes:
        return None
    types = sorted({next((key for key in v if key != "name"), "unknown") for v in volumes})
    names = [volume["name"] for volume in volumes]
    verb = "uses" if len(names) == 1 else "use"
    told = f"{_many('volume', names)} {_quoted(names)} {verb}"
    kinds = f"{_many('restricted volume type', types)} {_quoted(types)}"
    return f"restricted volume types ({told} {kinds})"


def _non_root(pod: Pod) -> str | None:
    if pod.spec.get("hostUsers") is False:
        return None
    refused = _setters(pod, lambda context: context.get("runAsNonRoot") is False)
    if refused:
        told = f"{' and '.join(refused)} must not set securityContext.runAsNonRoot=false"
        return f"runAsNonRoot != true ({told})"
    if pod.context.get("runAsNonRoot"):
        return None
    unsaid = pod.naming(lambda context, _whole: context.get("runAsNonRoot") is None)
    told = f"pod or {_of(unsaid)} must set securityContext.runAsNonRoot=true"
    return f"runAsNonRoot != true ({told})" if unsaid else None


def _user(pod: Pod) -> str | None:
    bad = _setters(pod, lambda context: context.get("runAsUser") == 0)
    if not bad or pod.spec.get("hostUsers") is False:
        return None
    return f"runAsUser=0 ({' and '.join(bad)} must not set runAsUser=0)"


def _restricted_seccomp(pod: Pod) -> str | None:
    if refused := _baseline_seccomp(pod):
        return refused
    if pod.context.get("seccompProfile"):
        return None
    unsaid = pod.naming(lambda context, _whole: not context.get("seccompProfile"))
    told = f'{_of(unsaid)} must set securityContext.seccompProfile.type to "RuntimeDefault"'
    return f'seccompProfile (pod or {told} or "Localhost")' if unsaid else None


def _added(pod: Pod, allowed: frozenset[str]) -> tuple[list[str], list[str]]:
    """Containers that add capabilities beyond these, and which."""

    def beyond(context: Object) -> set[str]:
        return set((context.get("capabilities") or {}).get("add") or ()) - allowed

    names = pod.naming(lambda context, _whole: beyond(context))
    return names, sorted({each for _, context, _ in pod.containers() for each in beyond(context)})


def _settings(
    pod: Pod, key: str, part: str, allowed: tuple[str, ...]
) -> tuple[list[str], list[str]]:
    """Who sets a profile to something else than these, and to what."""

    def value(context: Object) -> str | None:
        found = context.get(key)
        return None if found is None else str(found.get(part, ""))

    def is_bad(context: Object) -> bool:
        return value(context) not in {None, *allowed}

    contexts = [pod.context, *(context for _, context, _ in pod.containers())]
    values = {value(context) or "" for context in contexts if is_bad(context)}
    return _setters(pod, is_bad), sorted(values)


def _setters(pod: Pod, is_bad: Callable[[Object], bool]) -> list[str]:
    bad = pod.naming(lambda context, _whole: is_bad(context))
    return [*(["pod"] if is_bad(pod.context) else []), *([_of(bad)] if bad else [])]


def _probed_hosts(whole: Object) -> list[str]:
    probes = [whole.get(name) or {} for name in ("livenessProbe", "readinessProbe", "startupProbe")]
    hooks = whole.get("lifecycle") or {}
    probes += [hooks.get(name) or {} for name in ("postStart", "preStop")]
    found = (probe.get(way) or {} for probe in probes for way in ("httpGet", "tcpSocket"))
    return [each["host"] for each in found if each.get("host")]


def _of(names: list[str]) -> str:
    return f"{_many('container', names)} {_quoted(names)}"


def _many(word: str, items: Iterable[object]) -> str:
    return word if len(list(items)) == 1 else f"{word}s"


def _quoted(items: Iterable[str]) -> str:
    return ", ".join(f'"{item}"' for item in items)


# In the order of their ids, as the messages have them.
_BASELINE: tuple[Check, ...] = (
    _app_armor, _baseline_capabilities, _host_namespaces, _host_paths, _host_ports, _host_probes,
    _privileged, _baseline_proc_mount, _selinux, _baseline_seccomp, _sysctls,
)  # fmt: skip
_RESTRICTED: tuple[Check, ...] = (
    _app_armor, _host_namespaces, _host_ports, _host_probes, _privileged, _selinux, _sysctls,
    _escalation, _restricted_capabilities, _proc_mount, _restricted_volumes, _non_root, _user,
    _restricted_seccomp,
)  # fmt: skip
_CHECKS = {BASELINE: _BASELINE, RESTRICTED: _RESTRICTED}
