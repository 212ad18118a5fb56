"""An administrator's plain way to an API server: objects in, objects out, by resource name."""

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from threading import Event
from typing import Any, Self, TypeVar

import httpx
import yaml
from kubernetes.client import Configuration
from kubernetes.config import load_kube_config

Object = dict[str, Any]
T = TypeVar("T")

PATIENCE_SECONDS = 120.0
_LOOK_SECONDS = 0.1
_ANSWER_SECONDS = 60.0
_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class ApiError(Exception):
    """The API server refused; `body` is its Status."""

    def __init__(self, status: int, body: Object) -> None:
        super().__init__(f"{status} {body.get('reason')}: {body.get('message')}")
        self.status = status
        self.body = body


@dataclass(frozen=True)
class Served:
    """One resource that the API server serves, in the version it prefers."""

    path: str
    plural: str
    kind: str
    api_version: str
    namespaced: bool


@dataclass
class Api:
    """Requests as one user. Resources are called `pods`, `jobs.batch`, `clusterqueues.kueue...`.

    A name may leave out the end of its group while that is clear: `clusterqueues.kueue`.
    """

    client: httpx.Client
    _served: dict[str, Served] = field(default_factory=dict)

    @classmethod
    def to(cls, kubeconfig: Path | str | None) -> Self:
        """As the current user of a kubeconfig; without one of KUBECONFIG's."""
        told = Configuration()
        load: Callable[..., None] = load_kube_config
        load(str(kubeconfig) if kubeconfig else None, client_configuration=told)
        trust = ssl.create_default_context(cafile=told.ssl_ca_cert)
        if told.cert_file:
            trust.load_cert_chain(told.cert_file, told.key_file)
        authorization = told.get_api_key_with_prefix("BearerToken")
        client = httpx.Client(
            base_url=told.host,
            headers={"Authorization": authorization} if authorization else {},
            verify=trust,
            timeout=_ANSWER_SECONDS,
            trust_env=False,
        )
        return cls(client)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes its connections."""
        self.client.close()

    def create(self, resource: str, body: Object, namespace: str = "", **query: str) -> Object:
        """Creates an object; apiVersion and kind are filled in."""
        served = self.served(resource)
        whole = {"apiVersion": served.api_version, "kind": served.kind, **body}
        return self.ask("POST", self._path(served, namespace), json=whole, params=query)

    def apply(self, body: Object) -> Object:
        """Creates an object or brings it to what is said here, by server-side apply."""
        metadata = body["metadata"]
        served = self._of_kind(body["apiVersion"], body["kind"])
        path = self._path(served, metadata.get("namespace", ""), metadata["name"])
        return self.ask(
            "PATCH",
            path,
            content=yaml.safe_dump(body).encode(),
            params={"fieldManager": "tests", "force": "true"},
            headers={"Content-Type": "application/apply-patch+yaml"},
        )

    def get(self, resource: str, name: str, namespace: str = "") -> Object | None:
        """An object, or None."""
        try:
            return self.ask("GET", self._path(self.served(resource), namespace, name))
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise

    def list(self, resource: str, namespace: str = "", **query: str) -> list[Object]:
        """The objects of a resource, of all namespaces unless one is named."""
        path = self._path(self.served(resource), namespace)
        found: list[Object] = self.ask("GET", path, params=query)["items"]
        return found

    def patch(
        self, resource: str, name: str, change: Object, namespace: str = "", subresource: str = ""
    ) -> Object:
        """Lays a merge patch over an object or its subresource."""
        path = self._path(self.served(resource), namespace, name, subresource)
        headers = {"Content-Type": "application/merge-patch+json"}
        return self.ask("PATCH", path, json=change, headers=headers)

    def delete(self, resource: str, name: str, namespace: str = "") -> None:
        """Deletes an object in the background, without a name all of a namespace.

        One that is gone already is fine.
        """
        try:
            path = self._path(self.served(resource), namespace, name)
            self.ask("DELETE", path, params={"propagationPolicy": "Background"})
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise

    def ask(self, method: str, path: str, **request: Any) -> Object:
        """The decoded answer to any request; ApiError unless it is a success."""
        answer = self._answered(method, path, **request)
        try:
            body: Object = answer.json()
        except ValueError:
            body = {"message": answer.text[:500]}
        if not answer.is_success:
            raise ApiError(answer.status_code, body)
        return body

    def _answered(self, method: str, path: str, **request: Any) -> httpx.Response:
        """The answer once there is one: storage of kinds just defined says "later" at first."""

        def look() -> httpx.Response | None:
            answer = self.client.request(method, path, **request)
            return None if answer.status_code == HTTPStatus.TOO_MANY_REQUESTS else answer

        answer = wait_for(look, f"an answer to {method} {path}")
        assert answer is not None
        return answer

    def text(self, path: str, **query: str | int) -> str:
        """The answer to a GET as text, such as a pod's log."""
        answer = self.client.get(path, params=query)
        if not answer.is_success:
            raise ApiError(answer.status_code, {"message": answer.text[:500]})
        return answer.text

    def serves(self, resource: str) -> bool:
        """Whether the API server serves a resource now."""
        if self._find(resource) is None:
            self._served = self._discover()
        return self._find(resource) is not None

    def served(self, resource: str) -> Served:
        """Where a resource is served; LookupError when it is not."""
        if not self.serves(resource):
            raise LookupError(f"{resource} is not served")
        found = self._find(resource)
        assert found is not None
        return found

    def _find(self, resource: str) -> Served | None:
        exact = self._served.get(resource)
        if exact is not None or "." not in resource:
            return exact
        longer = (name for name in self._served if name.startswith(f"{resource}."))
        return next((self._served[name] for name in longer), None)

    def _of_kind(self, api_version: str, kind: str) -> Served:
        def find() -> Served | None:
            every = self._served.values()
            fits = (s for s in every if s.kind == kind and s.api_version == api_version)
            return next(fits, None)

        found = find()
        if found is None:
            self._served = self._discover()
            found = find()
        if found is None:
            raise LookupError(f"{kind} of {api_version} is not served")
        return found

    def _discover(self) -> dict[str, Served]:
        found: dict[str, Served] = {}
        for root in ("/api", "/apis"):
            groups = self.ask("GET", root, headers={"Accept": _DISCOVERY})["items"]
            for group in groups:
                name = group["metadata"].get("name", "")
                for version in group["versions"]:
                    for each in version.get("resources", ()):
                        served = _served(name, version["version"], each)
                        found.setdefault(served.plural + (f".{name}" if name else ""), served)
        return found

    @staticmethod
    def _path(served: Served, namespace: str, name: str = "", subresource: str = "") -> str:
        place = f"/namespaces/{namespace}" if namespace and served.namespaced else ""
        parts = [served.path + place, served.plural, name, subresource]
        return "/".join(part for part in parts if part)


def _served(group: str, version: str, told: Mapping[str, Any]) -> Served:
    path = f"/apis/{group}/{version}" if group else f"/api/{version}"
    api_version = f"{group}/{version}" if group else version
    namespaced = told["scope"] == "Namespaced"
    kind = told["responseKind"]["kind"]
    return Served(path, told["resource"], kind, api_version, namespaced)


def wait_for(
    look: Callable[[], T], what: str = "it", patience_seconds: float = PATIENCE_SECONDS
) -> T:
    """The first truthy value that `look` returns; AssertionError when patience ran out."""
    pause, left = Event(), patience_seconds
    while not (value := look()):
        assert left > 0, f"{what} did not come about within {patience_seconds:g} s: {value!r}"
        pause.wait(_LOOK_SECONDS)
        left -= _LOOK_SECONDS
    return value
