"""What goes wrong in a cluster without anybody asking for it, as stories want it."""

from playground.cluster.control.scheduler import preempt
from playground.cluster.inside import Inside


class Nature:
    """Breaks and mends what clusters stand on."""

    def __init__(self, inside: Inside) -> None:
        self._inside = inside

    def lose_node(self, name: str) -> None:
        """Lets a node fall silent: nobody hears of its pods until it is found or deleted."""
        self._turn_node(name, lost=True)

    def find_node(self, name: str) -> None:
        """Lets a lost node speak again."""
        self._turn_node(name, lost=False)

    def _turn_node(self, name: str, *, lost: bool) -> None:
        with self._inside.lock:
            self._inside.loop.settle()
            change = self._inside.kubelet.lost_nodes
            (change.add if lost else change.discard)(name)
            self._inside.nodes.look(name)
            self._inside.kubelet.wake_node(name)
            self._inside.loop.settle()

    def evict(self, namespace: str, pod: str, lacking: str = "memory") -> None:
        """Lets the kubelet end a pod because its node lacks something."""
        words = (
            f"The node was low on resource: {lacking}. Threshold quantity: 100Mi, available: 52Mi. "
        )
        with self._inside.lock:
            self._inside.loop.settle()
            self._inside.kubelet.evict((namespace, pod), words)
            self._inside.loop.settle()

    def preempt(self, namespace: str, pod: str, by: str) -> None:
        """Lets the scheduler push a pod out for one with a higher priority, named by its uid."""
        with self._inside.lock:
            self._inside.loop.settle()
            preempt(self._inside.world, (namespace, pod), by)
            self._inside.loop.settle()

    def break_mount(self, claim: str, words: str) -> None:
        """Lets the kubelet fail to mount a claim, in these words, for pods that start now."""
        self._inside.kubelet.mount_failures[claim] = words

    def mend_mount(self, claim: str) -> None:
        """Lets a claim be mounted again."""
        with self._inside.lock:
            self._inside.kubelet.mount_failures.pop(claim, None)
            self._inside.kubelet.retry()
            self._inside.loop.settle()

    def break_provisioner(self, storage_class: str, words: str) -> None:
        """Lets the provisioner of a class answer with these words instead of volumes."""
        self._inside.claims.failures[storage_class] = words

    def mend_provisioner(self, storage_class: str) -> None:
        """Lets the provisioner of a class make volumes again."""
        with self._inside.lock:
            self._inside.claims.failures.pop(storage_class, None)
            self._inside.claims.retry()
            self._inside.loop.settle()

    def break_snapshots(self, kind: str, words: str, *, kept: str = "") -> None:
        """Lets the driver answer with these words instead of taking snapshots of a class.

        With `kept` it does not delete them either.
        """
        snapshots = self._inside.snapshots
        for answers, said in ((snapshots.failures, words), (snapshots.kept, kept)):
            if said:
                answers[kind] = said

    def mend_snapshots(self, kind: str) -> None:
        """Lets the driver take and delete snapshots of a class again."""
        with self._inside.lock:
            self._inside.snapshots.failures.pop(kind, None)
            self._inside.snapshots.kept.pop(kind, None)
            self._inside.snapshots.retry()
            self._inside.loop.settle()
