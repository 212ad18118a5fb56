"""Trident for Azure NetApp Files as a test plays it: its records, its controller, its volumes.

Its kind is a definition made by hand, of the fields that the bot and Trident share, as Trident's
own have no schema. What its controller is, is a Deployment whose pods KWOK plays.
"""

from collections.abc import Callable, Mapping

from playground.arm.estate import Account, Estate, Pool
from playground.arm.trident import CLASS, DRIVER, HOME, attributes, make_volume, record
from tests.cluster.api import Api, Object
from tests.cluster.csi import Driver
from tests.cluster.definitions import define
from tests.cluster.rights import deploy
from tests.cluster.site import Site

RECORDS, CONTROLLER = "tridentvolumes.trident.netapp.io", "trident-controller"
DEPLOYMENTS = "deployments.apps"


class Trident:
    """Its kind, its namespace with the bot's rights there, and its controller.

    It makes its volumes where `uses` says, which has to be before there is a PVC of its class.
    """

    def __init__(self, api: Api, site: Site) -> None:
        self._api = api
        self.estate, self.pool = Estate(), Pool(Account("", ""), "", "Standard", 0)
        define(api, site, "trident.netapp.io", "tridentvolumes", "TridentVolume")
        site.add_namespace(HOME)
        deploy(api, "18-trident.yaml")
        api.create(DEPLOYMENTS, _controller(), HOME)

    def uses(self, estate: Estate, pool: Pool) -> None:
        """Makes its volumes in a pool of Azure's."""
        self.estate, self.pool = estate, pool

    def driver(self, grows: Callable[[], str] = str) -> Driver:
        """Its driver; `grows` says why a volume cannot grow, if so."""

        def make(name: str, size: int) -> Mapping[str, str]:
            there = (each for each in self.estate.volumes if each.name == f"trident-{name}")
            volume = next(there, None) or make_volume(self.estate, self.pool, name, size)
            told = attributes(self.estate, volume, name)
            if self.record(name) is None:
                body = record(name, told, size)
                del body["metadata"]["finalizers"]
                self._api.create(RECORDS, body, HOME)
            return told

        def grow(name: str, size: int) -> str:
            place = (self.record(name) or {"config": {}})["config"].get("internalID", "")
            volumes = self.estate.volumes
            found = [each for each in volumes if self.estate.volume_id(each) == place]
            problem = grows() or ("" if found else f"could not find volume {name}")
            if not problem:
                found[0].quota = size
            return problem

        return Driver(DRIVER, CLASS, make, grow)

    def record(self, name: str) -> Object | None:
        """What it keeps of a volume."""
        return self._api.get(RECORDS, name, HOME)

    @property
    def deployment(self) -> Object:
        """Its controller."""
        return self._api.get(DEPLOYMENTS, CONTROLLER, HOME) or {}

    def is_up(self) -> bool:
        """Whether its controller runs."""
        return bool(self.deployment.get("status", {}).get("availableReplicas") == 1)

    def close(self) -> None:
        """Takes its controller and its records away."""
        self._api.delete(DEPLOYMENTS, CONTROLLER, HOME)
        self._api.delete(RECORDS, "", HOME)


def _controller() -> Object:
    labels = {"app": "controller.csi.trident.netapp.io"}
    containers = [{"name": "trident-main", "image": "docker.io/netapp/trident:26.06.0"}]
    spec = {"containers": containers, "tolerations": [{"operator": "Exists"}]}
    return {
        "metadata": {"name": CONTROLLER},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }
