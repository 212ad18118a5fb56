"""Checks that the nodes of a run can reach its volumes, which may be in one zone only."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from bot.cluster.resources import NODES, PVCS, STORAGE_CLASSES, VOLUMES
from bot.cluster.types.claims import Requirement
from bot.cluster.types.objects import Node
from bot.datasets.caches.shares.forms import Storage
from bot.errors import ConflictError
from bot.quotas import Engine
from bot.training.kinds.kind import Site
from bot.training.spec import RunSpec
from bot.training.submission.gpu_types import nodes_open_to

_SHOWN = 5
_ZONE = "/zone"
_NONE: Mapping[str, Storage] = MappingProxyType({})


_ANOTHER_PVC = "Use a PVC that can be reached from there: copy the data into one from a snapshot."
_ANOTHER_CLASS = "Cache it on a storage class that can be reached from there."


@dataclass(frozen=True)
class _Reach:
    """A volume, and the node selector terms of which its nodes have to match one.

    `way` is the hint: what to use instead.
    """

    what: str
    terms: Sequence[Sequence[Requirement]]
    way: str = _ANOTHER_PVC

    def from_node(self, node: Node) -> bool:
        """Whether pods on the node can mount the volume."""
        return any(all(each.fits(node.labels) for each in term) for term in self.terms)

    @property
    def places(self) -> str:
        """The places from which the volume can be reached."""
        return " or ".join(dict.fromkeys(map(_place, self.terms)))


def refuse_unreachable(
    spec: RunSpec, site: Site, engine: Engine, caches: Mapping[str, Storage] = _NONE
) -> None:
    """ConflictError when no node that could take the run can reach all its volumes.

    `caches` are those of its data, by reference. Without any node yet, as with autoscalers, nothing
    is refused.
    """
    reaches = [*_reaches(spec, site), *_of_caches(caches, site)]
    nodes = _with_gpus(spec, nodes_open_to(spec, site, engine)) if reaches else ()
    if not nodes:
        return
    for each in reaches:
        if not any(map(each.from_node, nodes)):
            raise _unreachable(each, nodes, spec, site)
    if not any(all(each.from_node(node) for each in reaches) for node in nodes):
        said = "; ".join(f"{each.what} from {each.places}" for each in reaches)
        raise ConflictError(
            f"No node can reach all the volumes of this run: {said}.",
            "Use volumes that can be reached from the same place.",
        )


def _reaches(spec: RunSpec, site: Site) -> Iterator[_Reach]:
    """The known topology of its volumes; volumes that every node can reach are left out."""
    for claim in dict.fromkeys(mount.claim for mount in spec.mounts):
        found = site.view.get(PVCS, claim, site.team.namespace)
        if found is None:
            continue
        volume = site.view.get(VOLUMES, found.spec.volume_name)
        if volume is not None:
            terms = volume.spec.node_affinity.required.node_selector_terms
            yield from _known(f"PVC {claim}", (each.match_expressions for each in terms))
        elif not found.spec.volume_name:
            yield from _of_class(f"PVC {claim}", found.spec.storage_class_name or "", site)
    if spec.origin is not None:
        yield from _of_class(f"PVC {spec.origin.claim}", spec.origin.storage_class, site)
    for new in spec.volumes:
        yield from _of_class(f"A volume of {new.storage_class}", new.storage_class, site)


def _of_caches(caches: Mapping[str, Storage], site: Site) -> Iterator[_Reach]:
    for reference, storage in caches.items():
        what = f"The cache of {reference}"
        volume = site.view.get(VOLUMES, storage.volume) if storage.volume else None
        terms = volume.spec.node_affinity.required.node_selector_terms if volume else ()
        known = _known(what, (each.match_expressions for each in terms))
        found = known if volume else _of_class(what, storage.storage_class, site)
        yield from (replace(each, way=_ANOTHER_CLASS) for each in found)


def _of_class(what: str, name: str, site: Site) -> Iterator[_Reach]:
    found = site.view.get(STORAGE_CLASSES, name)
    topologies = found.allowed_topologies if found else ()
    yield from _known(what, (each.match_label_expressions for each in topologies))


def _known(what: str, terms: Iterable[Sequence[Requirement]]) -> Iterator[_Reach]:
    found = tuple(terms)
    if found and all(found):
        yield _Reach(what, found)


def _with_gpus(spec: RunSpec, nodes: Iterable[Node]) -> tuple[Node, ...]:
    wanted = spec.gpus_requested
    return tuple(node for node in nodes if all(node.status.allocatable.get(n) for n in wanted))


def _unreachable(reach: _Reach, nodes: Sequence[Node], spec: RunSpec, site: Site) -> ConflictError:
    where = _listed(dict.fromkeys(_place(_same_keys(reach, node)) for node in nodes))
    others = _with_gpus(spec, site.view.all(NODES))
    near = [node.name for node in others if reach.from_node(node)]
    ways = [reach.way]
    if near and spec.gpu_type:
        ways.append(f"Or use another GPU type: {_listed(near)} can reach it.")
    elif near:
        ways.append(f"{_listed(near)} can reach it, but the team's queue has no GPUs there.")
    return ConflictError(
        f"{reach.what} can be reached from {reach.places} only, but the"
        f" {_kind(spec, is_some=len(nodes) < len(others))} are in {where}.",
        " ".join(ways),
    )


def _kind(spec: RunSpec, *, is_some: bool) -> str:
    """What the nodes that could run it are called."""
    if spec.gpu_type:
        return f"nodes with {spec.gpu_type}"
    if not spec.gpus:
        return "nodes"
    return "nodes with GPUs for this team" if is_some else "nodes with GPUs"


def _same_keys(reach: _Reach, node: Node) -> tuple[Requirement, ...]:
    """The topology of a node, limited to the keys of the volume."""
    keys = dict.fromkeys(each.key for term in reach.terms for each in term)
    return tuple(Requirement(key=key, values=(node.labels.get(key, "?"),)) for key in keys)


def _place(term: Sequence[Requirement]) -> str:
    """`zone eu-1a`, or what else a node has to be."""
    return " and ".join(_said(each) for each in term)


def _said(each: Requirement) -> str:
    values = " or ".join(each.values)
    if each.operator == "In":
        word = "zone" if each.key.endswith(_ZONE) else each.key
        return f"{word} {values}"
    return " ".join(filter(None, (each.key, each.operator, values)))


def _listed(names: Iterable[str]) -> str:
    found = list(names)
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return ", ".join(found[:_SHOWN]) + more
