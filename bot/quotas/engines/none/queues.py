"""A cluster without a quota engine: only a namespace's ResourceQuota limits its GPUs."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import partial

from bot.cluster.resources import ALLOWANCES
from bot.cluster.types.allowances import Allowance
from bot.cluster.view import View
from bot.errors import ConflictError
from bot.quotas.engines.admission import Item
from bot.quotas.engines.engine import ZERO, Figures, Queue, QueueBacklog, QuotaReader
from bot.quotas.engines.nodes import allocatable
from bot.quotas.engines.none.wording import WORDS
from bot.quotas.engines.quota import Observed, QuotaAnnotation, QuotaField, QuotaTarget

# A ResourceQuota counts GPUs of any type.
ANY = "any"


class PlainQueues:
    """Namespaces as queues in which nothing waits: pods that do not fit wait for a node."""

    words = WORDS

    def __init__(self, view: View, resource: str) -> None:
        self.view = view
        self.resource = resource

    def behind(self, namespace: str, queue_name: str) -> Queue | None:
        """The namespace; there are no queues to name."""
        del queue_name
        return self.named(namespace)

    def named(self, queue: str) -> Queue | None:
        """A namespace, with the ResourceQuota that allows it the fewest GPUs, if one counts any."""
        found = [each for each in self.view.all(ALLOWANCES, queue) if self._key in each.status.hard]
        tightest = min(found, key=self._left, default=None)
        figures = () if tightest is None else (self._figures(tightest),)
        return Queue(name=queue, figures=figures)

    def figures(self) -> tuple[Figures, ...]:
        """Every namespace with a ResourceQuota of GPUs."""
        spaces = dict.fromkeys(each.namespace for each in self.view.all(ALLOWANCES))
        queues = (self.named(each) for each in spaces)
        return tuple(figures for queue in queues if queue for figures in queue.figures)

    def pool(self, figures: Figures) -> tuple[Figures, ...]:
        """Itself: namespaces do not lend."""
        return (figures,)

    def waiting(self, queue: str) -> QueueBacklog | None:
        """None: pending work of others is unknown."""
        del queue
        return None

    def admitted(self, queue: str) -> Sequence[Item]:
        """Empty: there is no engine that admits."""
        del queue
        return ()

    def within(self, namespace: str, queue_name: str, besides: frozenset[str]) -> Sequence[Item]:
        """Empty: a team's work in its namespace cannot be identified."""
        del namespace, queue_name, besides
        return ()

    def allocatable(self, flavor: str) -> Decimal | None:
        """The GPUs of all ready nodes; None while unknown."""
        del flavor
        return allocatable(self.view, self.resource, lambda _node: True)

    @property
    def age_seconds(self) -> float:
        """The age of what is known of ResourceQuotas; infinite before they were read."""
        return self.view.age_seconds(ALLOWANCES)

    @property
    def work_age_seconds(self) -> float:
        """The same: nothing else is counted."""
        return self.age_seconds

    @property
    def is_absent(self) -> bool:
        """False: no engine is needed."""
        return False

    @property
    def _key(self) -> str:
        """What a ResourceQuota calls GPUs: extended resources are counted by their requests."""
        return f"requests.{self.resource}"

    def _left(self, allowance: Allowance) -> Decimal:
        return allowance.status.hard[self._key] - allowance.status.used.get(self._key, ZERO)

    def _figures(self, allowance: Allowance) -> Figures:
        used = allowance.status.used.get(self._key)
        return Figures(
            queue=allowance.namespace,
            cohort="",
            flavor=ANY,
            nominal=allowance.status.hard[self._key],
            borrowing_limit=ZERO,
            lending_limit=ZERO,
            used=used,
            reserved=used,
            borrowed=ZERO,
            reclaims=False,
        )


class PlainOverrides:
    """No quota can be changed: ResourceQuotas belong to the cluster's administrators."""

    def look(self, place: QuotaField) -> QuotaReader:
        """Finds no such quota."""
        return QuotaReader(Observed(None, kind=WORDS.queue), partial(_refuse, place))

    def notes(self) -> Iterator[tuple[QuotaField, QuotaAnnotation]]:
        """Empty: none are written."""
        return iter(())


def _refuse(place: QuotaField, wanted: QuotaTarget) -> None:
    del wanted
    raise ConflictError(
        f"Namespace {place.queue} has {WORDS.unchangeable}.",
        "A platform admin can change its ResourceQuota in the cluster.",
    )
