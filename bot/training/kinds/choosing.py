"""Selects the kind of a submission and checks its options."""

from collections.abc import Mapping

from bot.cluster.view import View
from bot.errors import ConflictError, UsageError
from bot.slack.grammar.parameters import Nodes
from bot.training.kinds import KINDS
from bot.training.kinds.kind import WorkloadKind

# Among its options: that the number of its nodes can change while it runs.
RANGE = "range"


def choose(name: str, form: str | None, options: Mapping[str, object]) -> WorkloadKind:
    """The kind of that name and form; UsageError when it has no such form or option.

    `options` are those that only some kinds have; None if not given.
    """
    kind = KINDS.get((name, form or ""))
    if kind is None:
        raise _no_form(name, form or "")
    for option, value in options.items():
        if value is not None and option not in kind.options:
            raise _no_option(kind, option)
    return kind


def chosen_nodes(kind: WorkloadKind, nodes: Nodes | None) -> Nodes:
    """The nodes of a run, one by default.

    UsageError when a range is given for a kind that cannot change its nodes.
    """
    nodes = nodes or Nodes(1, 1)
    if nodes.fewest == nodes.most or RANGE in kind.options:
        return nodes
    ranged = sorted(_given(each) for each in KINDS.values() if RANGE in each.options)
    raise UsageError(
        f"Runs of {_given(kind)} keep the nodes they start with, so `--nodes {nodes.spelled}` does"
        " not apply.",
        f"Use `--nodes {nodes.most}`, or a kind that can change them: {', '.join(ranged)}.",
    )


def can_scale(name: str) -> bool:
    """Whether runs of a kind can change the number of their nodes, in one of its forms at least."""
    return any(RANGE in each.options for each in KINDS.values() if each.name == name)


def refuse_unserved(kind: WorkloadKind, cluster: str, view: View) -> None:
    """ConflictError when the cluster is known not to serve the resource of the kind."""
    root = kind.root
    if view.store(root.resource).absent:
        said = f"Cluster {cluster} does not serve {root.resource.plural}."
        raise ConflictError(said, root.needs)


def _no_form(name: str, form: str) -> UsageError:
    forms = sorted(each for kind, each in KINDS if kind == name and each)
    if forms:
        there = f"It has: {', '.join(forms)}. Without `--form`, the default is used."
        return UsageError(f"`--kind {name}` has no form {form}.", there)
    others = sorted({kind for kind, each in KINDS if each})
    return UsageError(f"`--form` does not apply to `--kind {name}`.", _kinds_with(others))


def _no_option(kind: WorkloadKind, option: str) -> UsageError:
    others = sorted({each.name for each in KINDS.values() if option in each.options})
    return UsageError(
        f"`--{option.replace('_', '-')}` does not apply to {_given(kind)}.", _kinds_with(others)
    )


def _given(kind: WorkloadKind) -> str:
    return f"`--kind {kind.name}`" + (f" with `--form {kind.form}`" if kind.form else "")


def _kinds_with(names: list[str]) -> str:
    if not names:
        return "Leave it out."
    kinds = ", ".join(f"`--kind {name}`" for name in names)
    return f"Leave it out, or use a kind that supports it: {kinds}."
