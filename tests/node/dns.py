"""CoreDNS for the pods of real nodes, on the bridge's address."""

from tests.cluster.control_plane import ControlPlane
from tests.node.building import Nodes

_NAME = "coredns"
_CONFIGURATION = """
.:53 {{
    bind {address}
    kubernetes cluster.local {{
        kubeconfig {kubeconfig}
        ttl 1
    }}
    errors
}}
"""


def start(plane: ControlPlane, built: Nodes) -> None:
    """Starts it; it ends with the control plane."""
    text = _CONFIGURATION.format(
        address=plane.address, kubeconfig=plane.folder / "nodes.kubeconfig"
    )
    (plane.folder / "Corefile").write_text(text)
    plane.run(_NAME, str(built.programs / _NAME), "-conf=Corefile")
