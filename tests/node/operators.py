"""The operators of the kinds that Kubernetes does not have, as processes on loopback."""

from tests.cluster.control_plane import ControlPlane
from tests.node.building import Nodes

_MPI = "mpi-operator"


def start(plane: ControlPlane, built: Nodes) -> None:
    """Starts them; they end with the control plane."""
    kubeconfig = plane.folder / "operators.kubeconfig"
    lock = ("-lock-namespace", "kube-system")
    limits = ("-kube-api-qps=50", "-kube-api-burst=100")
    plane.run(_MPI, str(built.programs / _MPI), "-kubeConfig", str(kubeconfig), *lock, *limits)
