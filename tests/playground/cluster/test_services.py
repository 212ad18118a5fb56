from typing import Any

from playground.cluster.cluster import ADMIN_TOKEN
from tests.playground.cluster.served import PODS, Object, Served, pod, refusal

SERVICES = "/api/v1/namespaces/team-a/services"
SECRETS = "/api/v1/namespaces/team-a/secrets"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/team-a/endpointslices"
INGRESSES = "/apis/networking.k8s.io/v1/namespaces/team-a/ingresses"


def service(name: str = "nb", **spec: Any) -> Object:
    ports = [{"name": "http", "port": 80, "targetPort": "web"}]
    return {"metadata": {"name": name}, "spec": {"selector": {"job": "nb"}, "ports": ports, **spec}}


def notebook(name: str = "one", **spec: Any) -> Object:
    body = pod(name, **spec)
    body["metadata"]["labels"] = {"job": "nb"}
    body["spec"]["containers"][0]["ports"] = [{"name": "web", "containerPort": 8888}]
    return body


def ingress(path_type: str | None = "Prefix", path: str = "/team-a/nb") -> Object:
    backend = {"service": {"name": "nb", "port": {"name": "http"}}}
    row = {"path": path, "pathType": path_type, "backend": backend}
    rules = [{"host": "ml.example.com", "http": {"paths": [row]}}]
    return {"metadata": {"name": "nb"}, "spec": {"ingressClassName": "nginx", "rules": rules}}


def slices(served: Served) -> list[Object]:
    params = {"labelSelector": "kubernetes.io/service-name=nb"}
    found: list[Object] = served.get(SLICES, **params)["items"]
    return found


def test_services_get_addresses_of_their_own(served: Served) -> None:
    first = served.post(SERVICES, service())["spec"]
    second = served.post(SERVICES, service("other"))["spec"]
    assert first["clusterIP"] != second["clusterIP"]
    assert first["clusterIPs"] == [first["clusterIP"]]
    assert first["ports"] == [{"name": "http", "port": 80, "targetPort": "web", "protocol": "TCP"}]


def test_headless_service_needs_no_ports(served: Served) -> None:
    body = service(clusterIP="None", ports=[], publishNotReadyAddresses=True)
    assert served.post(SERVICES, body)["spec"]["clusterIPs"] == ["None"]


def test_service_without_ports_is_refused(served: Served) -> None:
    assert refusal(served.admin.post(SERVICES, json=service(ports=[]))) == (
        422,
        "Invalid",
        'Service "nb" is invalid: spec.ports: Required value',
    )


def test_address_of_a_service_stays(served: Served) -> None:
    served.post(SERVICES, service())
    answer = served.patch(f"{SERVICES}/nb", {"spec": {"clusterIP": "10.96.9.9"}})
    assert refusal(answer)[2] == (
        'Service "nb" is invalid: spec.clusterIPs[0]: Invalid value: ["10.96.9.9"]: may not '
        "change once set"
    )


def test_service_with_capitals_is_refused(served: Served) -> None:
    answer = served.admin.post(SERVICES, json=service("1.nb"))
    assert refusal(answer)[2].startswith('Service "1.nb" is invalid: metadata.name: Invalid value')


def test_slices_list_the_pods_that_answer(served: Served) -> None:
    served.post(SERVICES, service())
    assert slices(served)[0]["endpoints"] == []
    served.post(PODS, notebook())
    served.pass_time(5)
    (found,) = slices(served)
    address = served.get(f"{PODS}/one")["status"]["podIP"]
    assert [row["addresses"] for row in found["endpoints"]] == [[address]]
    assert found["endpoints"][0]["conditions"]["ready"] is True
    assert found["ports"] == [{"name": "http", "protocol": "TCP", "port": 8888}]
    served.admin.delete(f"{PODS}/one")
    served.pass_time(40)
    assert slices(served)[0]["endpoints"] == []


def test_slices_name_the_hosts_of_pods(served: Served) -> None:
    served.post(SERVICES, service(clusterIP="None", ports=[]))
    served.post(PODS, notebook(hostname="nb-0", subdomain="nb"))
    served.pass_time(5)
    assert slices(served)[0]["endpoints"][0]["hostname"] == "nb-0"


def test_slices_go_with_their_service(served: Served) -> None:
    served.post(SERVICES, service())
    served.admin.delete(f"{SERVICES}/nb")
    assert slices(served) == []


def test_ingress_gets_an_address_where_served(served: Served) -> None:
    assert served.post(INGRESSES, ingress())["status"] == {"loadBalancer": {}}
    kind = {"metadata": {"name": "nginx"}, "spec": {"controller": "k8s.io/ingress-nginx"}}
    served.post("/apis/networking.k8s.io/v1/ingressclasses", kind)
    assert served.get(f"{INGRESSES}/nb")["status"] == {
        "loadBalancer": {"ingress": [{"ip": "203.0.113.10"}]}
    }


def test_ingress_path_has_to_be_absolute(served: Served) -> None:
    assert refusal(served.admin.post(INGRESSES, json=ingress(path="nb"))) == (
        422,
        "Invalid",
        (
            'Ingress.networking.k8s.io "nb" is invalid: spec.rules[0].http.paths[0].path: '
            'Invalid value: "nb": must be an absolute path'
        ),
    )


def test_ingress_path_type_has_to_be_named(served: Served) -> None:
    assert refusal(served.admin.post(INGRESSES, json=ingress(path_type=None)))[2].startswith(
        'Ingress.networking.k8s.io "nb" is invalid: spec.rules[0].http.paths[0].pathType: '
        "Required value"
    )


def test_objects_go_with_the_job_that_owns_them(served: Served) -> None:
    job = served.cluster.create("configmaps", {"metadata": {"name": "root"}}, "team-a")
    owner = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "root",
        "uid": job["metadata"]["uid"],
    }
    for path, body in ((SERVICES, service()), (INGRESSES, ingress())):
        body["metadata"]["ownerReferences"] = [owner]
        served.post(path, body)
    served.admin.delete("/api/v1/namespaces/team-a/configmaps/root")
    assert "nb" not in served.names(SERVICES)
    assert served.names(INGRESSES) == []


def test_secrets_are_hidden_from_those_not_allowed(served: Served) -> None:
    rule = {"verbs": ["create", "get"], "apiGroups": [""], "resources": ["secrets"]}
    served.cluster.admit_bot("narrow", [rule], "narrow")
    with served.client("narrow") as client:
        assert refusal(client.get(SECRETS))[2] == (
            'secrets is forbidden: User "narrow" cannot list resource "secrets" in API group "" '
            'in the namespace "team-a"'
        )
        assert client.get(f"{SECRETS}/wandb").status_code == 200


def test_tables_of_secrets_hold_no_values(served: Served) -> None:
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    with served.client(ADMIN_TOKEN) as client:
        text = client.get(SECRETS, headers={"accept": accept}).text
    assert "wandb" in text
    assert "bm90LWEtcmVhbC10b2tlbg" not in text


def test_text_given_later_becomes_data(served: Served) -> None:
    answer = served.patch(f"{SECRETS}/wandb", {"stringData": {"token": "other"}})
    assert answer.json()["data"] == {"token": "b3RoZXI="}
    assert "stringData" not in answer.json()


def test_ssh_secret_needs_its_private_key(served: Served) -> None:
    body = {
        "metadata": {"name": "keys"},
        "type": "kubernetes.io/ssh-auth",
        "stringData": {"a": "b"},
    }
    assert refusal(served.admin.post(SECRETS, json=body))[2] == (
        'Secret "keys" is invalid: data[ssh-privatekey]: Required value'
    )


def test_type_of_a_secret_stays(served: Served) -> None:
    assert refusal(served.patch(f"{SECRETS}/wandb", {"type": "other"}))[2] == (
        'Secret "wandb" is invalid: type: Invalid value: "other": field is immutable'
    )
