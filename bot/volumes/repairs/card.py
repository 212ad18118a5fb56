"""Cards of repairs: the question before one, and its progress."""

from collections.abc import Callable, Iterator

from sqlmodel import Session

from bot.approvals import Approvals
from bot.approvals.deciding import RequestSubject, RequestView, deciding
from bot.config import Anf, Settings
from bot.people.people import name_of
from bot.slack.card import Button, Card, Reply, Tone
from bot.slack.markup import Markup, channel, code, join, person, plain, sentence, when
from bot.volumes.records import pool_of
from bot.volumes.repairs.decide import RESTARTED_AT
from bot.volumes.repairs.plan import RepairPlan, written
from bot.volumes.repairs.tables import REPAIR, Repair, RepairPhase

GO, WITHDRAW = "anf.repair", "anf.repair-withdraw"
_MEANS = (
    "Trident's controller reads its records only when it starts. While it restarts, for about a"
    " minute, no Trident volume in the whole cluster is mounted on more nodes, created, grown,"
    " snapshotted or deleted: that waits. Running pods keep running, and nothing else is changed."
)
_STATES = {
    RepairPhase.ASKED: ("Waiting for approval", Tone.WAITING),
    RepairPhase.PATCHING: ("Writing Trident's record", Tone.WORKING),
    RepairPhase.RESTARTING: ("Restarting Trident's controller", Tone.WORKING),
    RepairPhase.ROLLING: ("Waiting for Trident's controller", Tone.WORKING),
    RepairPhase.CHECKING: ("Checking again", Tone.WORKING),
    RepairPhase.DONE: ("Repaired", Tone.GOOD),
    RepairPhase.FAILED: ("Failed", Tone.BAD),
    RepairPhase.DENIED: ("Denied", Tone.BAD),
    RepairPhase.EXPIRED: ("Expired", Tone.STOPPED),
    RepairPhase.WITHDRAWN: ("Withdrawn", Tone.STOPPED),
}


def question(plan: RepairPlan, anf: Anf, *, is_trial: bool) -> Reply:
    """What a repair would write, with the button that requests it."""
    trial = "Dry run: nothing was changed, and no approval was requested."
    asks = "An approver other than you has to approve it. Everything is then checked again."
    card = Card(
        f"Repair of PVC {plan.claim}",
        lines=(
            join(code(plan.claim), plain(f" was moved to pool {pool_of(plan.new_id)}, and Trident"
                 " still has the old id. This would be written:")),
            plain(_MEANS),
            plain(trial if is_trial else asks),
        ),
        document=document(plan, anf.trident_namespace, anf.trident_deployment),
        buttons=() if is_trial else (Button(GO, "Request approval", written(plan), "primary"),),
    )  # fmt: skip
    return Reply(card=card, is_question=True)


def document(what: RepairPlan | Repair, namespace: str, deployment: str) -> str:
    """The two patches, verbatim."""
    moment = "the time of the restart"
    if isinstance(what, Repair) and what.restart_at is not None:
        moment = what.restart_at.isoformat()
    return "\n".join(
        (
            f"TridentVolume {namespace}/{what.volume_name}, unless it is changed in the meantime:",
            "  config.internalID",
            f"    - {what.old_id}",
            f"    + {what.new_id}",
            f"Deployment {namespace}/{deployment}, as kubectl rollout restart does:",
            f"  spec.template.metadata.annotations[{RESTARTED_AT}]",
            f"    + {moment}",
        )
    )


def repair_card(row: Repair, asker: str, deciding: RequestView, shown_in: str) -> Card:
    """The card of a repair; in the channel of the request it can be withdrawn."""
    state, tone = _STATES[RepairPhase(row.phase)]
    is_open = row.phase in {RepairPhase.ASKED, RepairPhase.FAILED} or row.is_live
    return Card(
        title=f"Repair of PVC {row.claim_name}",
        state=state,
        tone=Tone.WARNING if row.trouble and row.is_live else tone,
        lines=tuple(_lines(row, deciding)),
        facts=tuple(_facts(row, asker)),
        document=document(row, row.trident_namespace, row.deployment) if is_open else "",
        buttons=(*deciding.buttons, *_buttons(row, shown_in)),
    )


def _buttons(row: Repair, shown_in: str) -> Iterator[Button]:
    if row.is_waiting and row.channel == shown_in:
        yield Button(WITHDRAW, "Withdraw", row.id)


def _lines(row: Repair, deciding: RequestView) -> Iterator[Markup]:
    yield from deciding.lines
    if deciding.deciders:
        yield join(" or ".join(person(each) for each in deciding.deciders), " can decide.")
    if row.phase == RepairPhase.ASKED:
        yield plain(_MEANS)
    if row.trouble and row.is_live:
        yield join("*Late*: ", sentence(row.trouble), " Retrying.")
    for line in (row.reason, row.stands, row.unblock):
        if line:
            yield sentence(line)


def _facts(row: Repair, asker: str) -> Iterator[tuple[str, Markup]]:
    yield "PVC", code(f"{row.namespace}/{row.claim_name}")
    yield "Moved", plain(f"from pool {pool_of(row.old_id)} to pool {pool_of(row.new_id)}")
    yield "PV", code(row.volume_name)
    yield "Cluster", plain(row.cluster)
    yield "Requested by", join(plain(asker), " in ", channel(row.channel))
    if row.withdrawn_by is not None:
        yield "Withdrawn by", person(row.withdrawn_by)
    if row.ended_at is not None:
        yield "Ended", when(row.ended_at)


class RepairRenderer:
    """Renders repairs; the buttons to decide are only on the approvers' card."""

    kind = REPAIR

    def __init__(self, settings: Callable[[], Settings], approvals: Approvals) -> None:
        self._settings = settings
        self._approvals = approvals

    def card(self, session: Session, subject_id: str, channel: str) -> Card | None:
        """The card of a repair in this channel; None if there is no such repair."""
        row = session.get(Repair, subject_id)
        if row is None:
            return None
        asker = name_of(session, row.workspace_id, row.person)
        asked = RequestSubject(REPAIR, row.id, row.channel)
        found = deciding(session, self._approvals, self._settings(), asked, channel)
        return repair_card(row, asker, found, channel)
