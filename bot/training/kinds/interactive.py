"""The workload kind `interactive`: a notebook or a shell for a while, in a batch/v1 Job."""

import base64
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath

from msgspec.structs import replace

from bot.cluster import labels
from bot.cluster.resources import INGRESSES, SECRETS, SERVICES
from bot.cluster.types.objects import Pod
from bot.errors import UsageError
from bot.slack.grammar.container_parameters import SecretReference
from bot.training.kinds.job import ATTEMPTS, FAILURE_POLICY, JOB, KEEP_FINISHED_SECONDS
from bot.training.kinds.kind import Dependent, Manifest, PodSet, RootType, Site
from bot.training.kinds.pods.template import pod_template, root_metadata
from bot.training.spec import Entrance, RunSpec, spec_of
from bot.training.tables import Run

SESSIONS = "interactive"
TOKEN_VARIABLE, TOKEN_KEY = "JUPYTER_TOKEN", "token"
NOTEBOOK = "start-notebook.py"
_NOTEBOOKS = frozenset({NOTEBOOK, "start-notebook.sh", "jupyter", "jupyter-lab"})
_WEB, _WEB_PORT = "http", 80
_TOKEN_BYTES = 32
# The Job's own limit counts the pulling of its image too, and must not come before the row's.
_BACKSTOP_SECONDS = 3600


@dataclass(frozen=True)
class InteractiveKind:
    """One pod that serves its owner until its time is up."""

    name: str = SESSIONS
    form: str = ""
    root: RootType = JOB
    options: frozenset[str] = frozenset({"port"})

    def refuse(self, spec: RunSpec, site: Site) -> None:
        """UsageError when the token is to come from elsewhere: nobody could then be shown it."""
        del site
        if any(each.name == TOKEN_VARIABLE for each in spec.secrets):
            raise UsageError(
                f"`{TOKEN_VARIABLE}` is created for each session.",
                "Leave it out. Open on the card shows you the address with it.",
            )

    def pods(self, spec: RunSpec) -> tuple[PodSet, ...]:
        """One pod."""
        return (PodSet("main", 1, spec.requests),)

    def manifest(self, run: Run, installation: str) -> Manifest:
        """The Job, suspended; what ends the session is its row, not the Job's own limit."""
        spec = spec_of(run)
        body = {
            "suspend": True,
            "backoffLimit": ATTEMPTS,
            "podReplacementPolicy": "Failed",
            "podFailurePolicy": FAILURE_POLICY,
            "activeDeadlineSeconds": (spec.longest_seconds or 0) + _BACKSTOP_SECONDS,
            "ttlSecondsAfterFinished": KEEP_FINISHED_SECONDS,
            "template": _template(run, installation, spec),
        }
        return {"metadata": root_metadata(run, installation), "spec": body}

    def dependents(self, run: Run) -> tuple[Dependent, ...]:
        """The token, then the way in; a shell has neither."""
        spec, name = spec_of(run), service_name(run)
        if spec.port is None:
            return ()
        made = (Dependent(SECRETS, name, _token), Dependent(SERVICES, name, partial(_service, run)))
        if spec.entrance is None:
            return made
        return (*made, Dependent(INGRESSES, name, partial(_ingress, run, spec.entrance)))

    def log_pods(self, pods: Sequence[Pod]) -> Sequence[Pod]:
        """Every pod: there is one at a time."""
        return pods


def service_name(run: Run) -> str:
    """What its Secret, its Service and its Ingress are called; Services begin with a letter."""
    return f"session-{run.job_name}"


def base_path(run: Run) -> str:
    """The path below which it answers."""
    return f"/{run.namespace}/{run.job_name}"


def host_of(run: Run, entrance: Entrance) -> str:
    """The host at which a session answers: its own where the cluster has a wildcard for them.

    Pages of one host may use each other; those of another one may not.
    """
    any_host, _, domain = entrance.host.partition(".")
    return f"{run.job_name}.{domain}" if any_host == "*" else entrance.host


def is_notebook(command: Sequence[str]) -> bool:
    """Whether that is Jupyter, as it is when nothing is said."""
    return not command or PurePosixPath(command[0]).name in _NOTEBOOKS


def _template(run: Run, installation: str, spec: RunSpec) -> Manifest:
    if spec.port is None:
        return pod_template(run, installation, spec)
    token = SecretReference(TOKEN_VARIABLE, service_name(run), TOKEN_KEY)
    spec = replace(spec, command=_command(run, spec), secrets=(*spec.secrets, token))
    template = pod_template(run, installation, spec)
    ports = [{"name": _WEB, "containerPort": spec.port}]
    template["spec"]["containers"][0] |= {"ports": ports}
    return template


def _command(run: Run, spec: RunSpec) -> tuple[str, ...]:
    if not is_notebook(spec.command):
        return spec.command
    return (
        *(spec.command or (NOTEBOOK,)),
        f"--ServerApp.base_url={base_path(run)}",
        "--ServerApp.ip=0.0.0.0",
        f"--ServerApp.port={spec.port}",
    )


def _token() -> Manifest:
    made = base64.b64encode(secrets.token_urlsafe(_TOKEN_BYTES).encode()).decode()
    return {"type": "Opaque", "immutable": True, "data": {TOKEN_KEY: made}}


def _service(run: Run) -> Manifest:
    return {
        "spec": {
            "selector": {labels.RUN: run.id},
            "ports": [{"name": _WEB, "port": _WEB_PORT, "targetPort": _WEB}],
        }
    }


def _ingress(run: Run, entrance: Entrance) -> Manifest:
    host = host_of(run, entrance)
    service = {"name": service_name(run), "port": {"name": _WEB}}
    path = {"path": base_path(run), "pathType": "Prefix", "backend": {"service": service}}
    spec: Manifest = {"rules": [{"host": host, "http": {"paths": [path]}}]}
    if entrance.class_name:
        spec["ingressClassName"] = entrance.class_name
    if entrance.tls:
        tls: Manifest = {"hosts": [host]}
        spec["tls"] = [tls | ({"secretName": entrance.tls_secret} if entrance.tls_secret else {})]
    return {"spec": spec}
