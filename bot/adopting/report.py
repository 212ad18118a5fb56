"""What `quartermaster adopt` found, as people read it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

LOST_FOR_GOOD = (
    "Lost for good: the audit log, approvals, the history of runs and GPUs, runs that had no object"
    " yet, dataset versions without a cache, pins, and what else was set in Slack, such as digests"
    " and presets."
)


@dataclass(frozen=True)
class Line:
    """One thing that was found; `why` says why it is not adopted."""

    what: str
    why: str = ""


@dataclass
class Kind:
    """What was found of one kind of things, like runs: the titles of those that are adopted."""

    singular: str
    plural: str
    adopted: list[str] = field(default_factory=list)
    known: int = 0

    @property
    def counted(self) -> str:
        """How many are known already: `2 runs`."""
        return f"{self.known} {self.singular if self.known == 1 else self.plural}"


@dataclass(frozen=True)
class Report:
    """What was found and adopted; with `is_trial` nothing was written.

    `elsewhere` are installations whose objects were left alone. `unnoted` are the clusters whose
    queues say nothing of overrides.
    """

    installation: str
    is_trial: bool
    kinds: Sequence[Kind]
    quotas: Sequence[Line]
    left: Sequence[Line]
    elsewhere: Sequence[str]
    unnoted: Sequence[str]

    def lines(self) -> Iterator[str]:
        """The report as people read it."""
        yield f"Installation {self.installation}"
        for kind in self.kinds:
            named = f"{kind.plural.capitalize()} to adopt"
            title = named if self.is_trial else f"Adopted {kind.plural}"
            yield from _section(title, [Line(each) for each in kind.adopted])
        known = ", ".join(kind.counted for kind in self.kinds if kind.known)
        if known:
            yield f"Known already: {known}."
        yield from _section("Quotas that the server sets back", self.quotas)
        yield from _section("Not adopted", self.left)
        for each in self.elsewhere:
            yield f"Installation {each} has objects too. They were left alone."
        for each in self.unnoted:
            yield (
                f"The queues of cluster {each} have no annotations, so it is not known which"
                " quotas are raised. Compare them, and set them back by hand. Teams that were"
                " created in Slack there are not known either: add them to quartermaster.yaml."
            )
        yield LOST_FOR_GOOD


def _section(title: str, lines: Sequence[Line]) -> Iterator[str]:
    if lines:
        yield f"{title}:"
    for each in lines:
        yield f"  {each.what}{f': {each.why}' if each.why else ''}"
