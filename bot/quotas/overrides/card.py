"""Builds the card of an override from its row and figures. Pure: no I/O."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from bot.cluster.types.quantities import format_quantity
from bot.config import Quotas
from bot.durations import format_duration
from bot.quotas.overrides.effect import Effect, Outlook, Prospect
from bot.quotas.tables import ManagedQuota, Mode, Override, OverridePhase
from bot.quotas.wording import amount, change, gpus, number, title
from bot.slack.card import Button, Card, Confirm, Tone
from bot.slack.markup import Markup, channel, code, join, person, plain, when


@dataclass(frozen=True)
class DriftConflict:
    """A quota changed outside Quartermaster, and its value with the overrides added to that."""

    quota: ManagedQuota
    with_theirs: str
    queue_kind: str


@dataclass(frozen=True)
class OverrideStatus:
    """The state of an override: its approval as text, its effect, and its problems.

    `effect` is for approvers: None if its queues were not found, a sentence if it could not start.
    `after_end` says what the engine does with runs above quota at the end. `asker` is a name, so
    that requesters are not notified of their own request; `deciders` are mentioned while it is
    pending.
    """

    asker: str
    deciders: tuple[str, ...] = ()
    approval: tuple[Markup, ...] = ()
    buttons: tuple[Button, ...] = ()
    effect: Effect | str | None = None
    after_end: str = ""
    conflicts: tuple[DriftConflict, ...] = ()
    troubles: tuple[str, ...] = ()


def override_card(
    row: Override, status: OverrideStatus, settings: Quotas, *, for_deciders: bool
) -> Card:
    """The card of an override; approvers see its effect and the buttons too."""
    state, tone = _STATES[OverridePhase(row.phase)]
    weighs = for_deciders and row.phase == OverridePhase.ASKED
    return Card(
        title=title(row),
        state=state,
        tone=Tone.WARNING if row.trouble or status.conflicts or status.troubles else tone,
        lines=(
            *status.approval,
            *((_called(status.deciders),) if status.deciders else ()),
            *_in_the_way(row, status),
            *(_weighed(row, status, settings) if weighs else ()),
        ),
        facts=tuple(_facts(row, status.asker)),
        buttons=(*status.buttons, *_conflict_buttons(status)) if for_deciders else (),
        footer=(join("Override ", code(number(row))),),
    )


_STATES = {
    OverridePhase.ASKED: ("Waiting for approval", Tone.WAITING),
    OverridePhase.APPROVED: ("Approved, taking effect", Tone.WORKING),
    OverridePhase.ACTIVE: ("Active", Tone.GOOD),
    OverridePhase.ENDING: ("Ending, restoring the quota", Tone.WORKING),
    OverridePhase.ENDED: ("Ended", Tone.QUIET),
    OverridePhase.DENIED: ("Denied", Tone.BAD),
    OverridePhase.EXPIRED: ("Expired", Tone.STOPPED),
    OverridePhase.REVOKED: ("Revoked", Tone.STOPPED),
    OverridePhase.FAILED: ("Failed", Tone.BAD),
}


def _called(deciders: Sequence[str]) -> Markup:
    """Mentions the approvers: a new card notifies them once, edits notify no one."""
    return join(" or ".join(person(each) for each in deciders), " can decide.")


def _facts(row: Override, asker: str) -> Iterator[tuple[str, Markup]]:
    yield "Change", plain(change(row))
    if row.donor_team:
        yield "Lent by", plain(row.donor_team)
    yield "Requested by", join(plain(asker), " in ", channel(row.channel))
    yield "Reason", plain(row.reason)
    if row.ended_at is not None:
        yield "Ended", when(row.ended_at)
    elif row.ends_at is not None:
        yield "Until", when(row.ends_at)
    elif row.mode == Mode.BASE:
        yield "Duration", plain("permanent")
    elif row.duration_seconds is not None:
        length = format_duration(timedelta(seconds=row.duration_seconds))
        yield "Until", plain(f"{length} after approval")
    if row.revoked_by:
        yield "Revoked by", person(row.revoked_by)


def _in_the_way(row: Override, status: OverrideStatus) -> Iterator[Markup]:
    for conflict in status.conflicts:
        yield join("*Stopped*: ", plain(conflict.quota.stopped_because))
    for trouble in (row.trouble, *status.troubles):
        if trouble:
            yield join("*Late*: ", plain(trouble), " Retrying.")
    if row.phase == OverridePhase.FAILED and row.note:
        yield plain(row.note)


def _conflict_buttons(status: OverrideStatus) -> Iterator[Button]:
    for conflict in status.conflicts:
        quota = conflict.quota
        if quota.external_value is None:
            continue
        value = f"{quota.id}:{quota.external_value:f}"
        theirs = format_quantity(quota.external_value)
        yield Button(
            "quota.adopt",
            "Use the external value as base",
            value,
            confirm=Confirm(
                "Use the external value?",
                f"The base of {conflict.queue_kind} {quota.queue} becomes {theirs}. With the active"
                f" overrides, the value is set to {conflict.with_theirs}.",
                "Use it",
            ),
        )
        yield Button("quota.rewrite", "Restore the expected value", value, "danger")


def _weighed(row: Override, status: OverrideStatus, settings: Quotas) -> Iterator[Markup]:
    effect = status.effect
    if effect is None:
        yield plain("The effect is unknown: its queues have not been read yet.")
    elif isinstance(effect, str):
        yield join("*Cannot start now*: ", plain(effect))
    else:
        yield plain(_sum(row, effect))
        yield from _for_now(row, effect)
        if effect.donor is not None:
            yield plain(_donor(row, effect))
        if effect.borrowers:
            names = ", ".join(f"{each.queue} {amount(each.borrowed)}" for each in effect.borrowers)
            yield plain(f"Other queues borrow now, and these GPUs can be reclaimed: {names}.")
        yield from _waiting(row, effect.prospects)
    if row.mode != Mode.BASE:
        yield plain(_end(settings, status.after_end))
    elif isinstance(effect, Effect) and effect.taker[1].nominal < effect.taker[0].nominal:
        yield plain(f"When the quota is lowered, {status.after_end}")


def _sum(row: Override, effect: Effect) -> str:
    if row.mode == Mode.BORROWING_LIMIT:
        before, after = (amount(each.borrowing_limit) for each in effect.taker)
        return (
            f"Nominal quotas do not change: {row.team} may borrow {after} instead of {before} "
            "while others leave GPUs idle."
        )
    total = f"Nominal quotas of {row.flavor} would total {amount(effect.nominal_sum)}"
    if effect.allocatable is None:
        return f"{total}; the number of allocatable GPUs is unknown."
    over = effect.nominal_sum - effect.allocatable
    if over > 0:
        return (
            f"{total} of {amount(effect.allocatable)} allocatable GPUs: {amount(over)} more than "
            "exist, so runs may be admitted and then wait for a node."
        )
    return f"{total} of {amount(effect.allocatable)} allocatable GPUs."


def _for_now(row: Override, effect: Effect) -> Iterator[Markup]:
    """The quota that a new base results in while overrides are active."""
    total = effect.taker[1].nominal
    if row.mode == Mode.BASE and total != row.amount:
        yield plain(
            f"With the active overrides, the nominal quota is {amount(total)}; after they end, it"
            f" is {amount(row.amount)}."
        )


def _donor(row: Override, effect: Effect) -> str:
    if effect.donor is None:
        return ""
    before, after = effect.donor
    used = f"it uses {amount(before.reserved)} now"
    if before.reserved is not None and before.reserved > after.nominal:
        used += f", of which {amount(before.reserved - after.nominal)} could then be reclaimed"
    return (
        f"{row.donor_team} lends {gpus(row.amount)} "
        f"({amount(before.nominal)} → {amount(after.nominal)}); {used}."
    )


def _waiting(row: Override, prospects: tuple[Prospect, ...] | None) -> Iterator[Markup]:
    if prospects is None:
        yield plain(f"The pending workloads of {row.team} are unknown.")
    elif not prospects:
        yield plain(f"{row.team} has no pending workloads.")
    for each in prospects or ():
        outlook = (
            _OUTLOOKS[each.outlook] if each.outlook else "may or may not start: figures missing"
        )
        yield join(code(each.name), plain(f" ({gpus(each.gpus)}) {outlook}."))


_OUTLOOKS = {
    Outlook.STARTS: "would start now",
    Outlook.RECLAIMS: "would start once borrowed GPUs are reclaimed",
    Outlook.LACKS_NODES: "would be admitted and then wait for a node",
    Outlook.WAITS: "would still wait",
}


def _end(settings: Quotas, after_end: str) -> str:
    if settings.after_end == "keep":
        return f"When it ends, {after_end}"
    notice = format_duration(settings.stop_notice)
    return f"When it ends, runs above quota are stopped, {notice} after a notice."
