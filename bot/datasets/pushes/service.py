"""The verbs of pushes: checks requests and writes rows; calls no outside service."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from msgspec.structs import replace
from sqlalchemy import and_, or_
from sqlmodel import Session, col, select

from bot import holds
from bot.audit import Actor, record
from bot.cluster.cluster import Cluster
from bot.config import Datasets, Settings
from bot.database.columns import new_id
from bot.datasets import finding
from bot.datasets.bounds import StoreUse
from bot.datasets.caches.shares import service
from bot.datasets.caches.tables import CacheShare
from bot.datasets.clusters import at_work, refuse_elsewhere, spelled
from bot.datasets.drops.tables import DROP, LANE, Drop
from bot.datasets.job import job_name
from bot.datasets.location import Location, overlap
from bot.datasets.pushes.plan import PushRequest
from bot.datasets.pushes.volumes import NO_VOLUME, Owner, PushVolume, found, restorable
from bot.datasets.service import DatasetService
from bot.datasets.tables import PUSH, Dataset, Push, PushPhase
from bot.errors import ConflictError, NotAllowedError, NotFoundError, UsageError
from bot.holds import SNAPSHOT, Hold
from bot.people.access import Caller, Right
from bot.reconcile.due import wake
from bot.reconcile.wakeups import cluster_lane
from bot.slack.grammar.slack_parameters import SharedMessage
from bot.slack.markup import FormatCommand
from bot.slack.messages import show_card
from bot.volumes.records import ClaimPlace, refuse_stale


@dataclass(frozen=True)
class PushOffer:
    """A push that has not started yet.

    `dataset` is the name of the dataset that the target is or becomes, or empty. `versions` is the
    number of versions it has now.
    """

    request: PushRequest
    store: str
    volume: PushVolume
    dataset: str = ""
    is_new: bool = False
    versions: int = 0


class PushService:
    """The verbs that handlers call; each writes within the caller's transaction.

    Handlers have checked the `Caller`'s right to use the verb.
    """

    def __init__(
        self,
        settings: Callable[[], Settings],
        clusters: Mapping[str, Cluster],
        format_command: FormatCommand,
    ) -> None:
        self._settings = settings
        self._clusters = clusters
        self._format_command = format_command
        self._datasets = DatasetService(settings, format_command)

    def ask(self, session: Session, caller: Caller, request: PushRequest) -> PushOffer:
        """What would be pushed; UserError if it cannot be."""
        team = caller.team or ""
        use = StoreUse(team, request.store or "", request.target, is_writing=True)
        store = self._datasets.store_of(use)
        self._refuse_pushed(session, request.target)
        at_target = self._at_target(session, team, store, request)
        theirs, datasets = self._settings().teams[team], self._here(team, request)
        cluster = self._clusters[datasets.cluster]
        look, name = (restorable, request.snapshot) if request.snapshot else (found, request.claim)
        volume = look(cluster, datasets, Owner(team, theirs.namespace), name)
        place = ClaimPlace(cluster.name, theirs.namespace, volume.claim)
        refuse_stale(session, place, "pushed")
        if at_target is None:
            return PushOffer(
                request, store, volume, request.dataset or "", is_new=bool(request.dataset)
            )
        versions = len(finding.versions(session, at_target.id))
        return PushOffer(request, store, volume, at_target.name, versions=versions)

    def _here(self, team: str, request: PushRequest) -> Datasets:
        """The settings of the cluster that a push reads in; ConflictError if there is none."""
        datasets, reach = self._datasets.set_up(), self._settings().teams[team].reach
        refuse_elsewhere(datasets, request.cluster, "Push from a PVC there.")
        mine = next((each for each in datasets.everywhere if each in reach), None)
        if mine is None:
            raise ConflictError(
                f"Datasets are in {spelled(datasets)}, where {team} has no PVCs.",
                f"The PVCs of {team} are in: {', '.join(reach)}.",
            )
        return datasets.at(request.cluster or mine)

    def begin(self, session: Session, caller: Caller, request: PushRequest, now: datetime) -> Push:
        """Starts the push of a folder."""
        offer = self.ask(session, caller, request)
        push = self._row(caller, offer, self._here(caller.team or "", request), now)
        session.add(push)
        session.flush()
        if push.share_id:
            service.open_for(session, push, now)
        if offer.volume.kept_as:
            holds.take(session, _hold(push, offer.volume.kept_as))
        return _begun(session, caller, push, "dataset.push", now)

    def put(
        self,
        session: Session,
        caller: Caller,
        request: PushRequest,
        now: datetime,
        message: SharedMessage | None = None,
    ) -> Push:
        """Starts a push of files to the dataset that it names.

        They come from the caller's computer, or are those of a message of the caller's channel.
        Without a target, the push goes to the source of that dataset.
        """
        _refuse_elsewhere(caller, message)
        datasets, team = self._datasets.set_up(), caller.team or ""
        request = self._aimed(session, team, request)
        use = StoreUse(team, request.store or "", request.target, is_writing=True)
        store = self._datasets.store_of(use)
        for name in (store, datasets.state_store):
            self._refuse_unsigned(name, is_drop=message is not None)
        self._refuse_pushed(session, request.target)
        known = self._at_target(session, team, store, request)
        there = at_work(session, datasets, known.id if known else "", request.cluster)
        offer = PushOffer(request, store, NO_VOLUME, request.dataset or "")
        push = self._row(caller, offer, there, now)
        push.box = Location.of(datasets.state).below("uploads", push.id).url
        push.box_store = datasets.state_store
        push.share_id = push.claim_namespace = ""
        session.add(push)
        if message is not None:
            push.message = message.ts
            session.add(_drop(push, message))
            wake(session, DROP, push.id, LANE, now)
        return _begun(session, caller, push, "dataset.put", now)

    def granted(self, session: Session, caller: Caller, push: Push, now: datetime) -> Push:
        """Notes that its requester gets the grant of a push; NotAllowedError for anyone else."""
        if push.person != caller.person or caller.team != push.team:
            raise NotAllowedError(
                f"Only <@{push.person}> can get this command: it lets files be pushed in their"
                " name.",
                f"Use `{self._format_command(f'dataset put {push.dataset}')}` yourself.",
            )
        if not push.takes_files or push.is_drop:
            raise ConflictError(
                "No files can be pushed by this card now.",
                "It says whether it starts or has ended.",
            )
        facts = {"target": push.target}
        record(session, _actor(caller), "dataset.put_grant", (PUSH, push.id), facts, at=now)
        return push

    def get(self, session: Session, push_id: str) -> Push:
        """The push with that id, from a button; NotFoundError without one."""
        push = session.get(Push, push_id)
        if push is None:
            raise NotFoundError("This push is no longer known.")
        return push

    def stop(self, session: Session, caller: Caller, push: Push, now: datetime) -> Push:
        """Stops a push; objects that are already in the store stay."""
        if caller.team != push.team:
            raise NotAllowedError(
                f"This push belongs to {push.team}.", "Ask a member of that team."
            )
        if push.person != caller.person and not caller.may(Right.DATASET_REMOVE_ANY):
            raise NotAllowedError(
                f"<@{push.person}> started this push.",
                "That person, a lead of the team or an admin can stop it.",
            )
        if not push.is_live or push.stopped_by is not None:
            raise ConflictError("This push has ended or is stopping.")
        push.stopped_by = caller.person
        session.add(push)
        facts = {"target": push.target}
        record(session, _actor(caller), "dataset.push_stop", (PUSH, push.id), facts, at=now)
        wake(session, PUSH, push.id, cluster_lane(push.cluster), now)
        return push

    def _aimed(self, session: Session, team: str, request: PushRequest) -> PushRequest:
        """The request with the place and store of its dataset, unless it names a place."""
        if request.target:
            return request
        dataset = self._datasets.find(session, team, request.dataset or "")
        if dataset.team != team:
            raise NotAllowedError(
                f"{dataset.name} belongs to {dataset.team}; only that team can push to it.",
                "Ask a member of that team, or push to a new dataset with --to.",
            )
        return replace(request, target=dataset.source, store=dataset.store)

    def _refuse_unsigned(self, name: str, *, is_drop: bool) -> None:
        """ConflictError if a store cannot sign uploads in advance."""
        store = self._settings().stores.get(name)
        if store is not None and store.type != "s3":
            whose = "from Slack" if is_drop else "of a computer"
            raise ConflictError(
                f"Store {name} is of type {store.type}. Files {whose} can only be pushed"
                " to stores of type s3.",
                f"Copy them to a PVC and use `{self._format_command('dataset push')}`.",
            )

    def _refuse_pushed(self, session: Session, target: str) -> None:
        """ConflictError if another push writes to the same or an overlapping place."""
        other = next((each for each in _writing(session) if overlap(each.target, target)), None)
        if other is not None and not other.is_live:
            raise ConflictError(
                f"The push of <@{other.person}> to {other.target} has ended, but its Job has"
                " not been deleted yet.",
                "Try again in a minute.",
            )
        if other is not None:
            raise ConflictError(
                f"<@{other.person}> is already pushing to {other.target}.",
                f"Its card in <#{other.channel}> shows the progress. Push when it has ended.",
            )

    def _at_target(
        self, session: Session, team: str, store: str, request: PushRequest
    ) -> Dataset | None:
        """The team's dataset at the target, if any; UserError if the request does not fit it."""
        exact = self._refuse_foreign(session, team, store, request.target)
        named = finding.present(session, request.dataset) if request.dataset else None
        if request.dataset and named is None and exact is not None:
            raise ConflictError(
                f"{request.target} is already the dataset {exact.name}.",
                f"Omit --as, or use --as {exact.name}.",
            )
        if named is not None and (exact is None or named.id != exact.id):
            where = f" at {named.source}" if named.is_for(team) else ""
            raise ConflictError(
                f"The name {named.name} is taken by another dataset{where}.",
                "Choose another name, or push to the source of that dataset.",
            )
        if not request.dataset and exact is None and (request.version or request.note):
            raise UsageError(
                f"{request.target} is not a dataset of {team}, so no version is recorded.",
                "Name the dataset that it becomes, for example --as chest-xray.",
            )
        if exact is not None:
            self._refuse_version(session, exact, request.version)
        return exact

    def _refuse_foreign(
        self, session: Session, team: str, store: str, target: str
    ) -> Dataset | None:
        """The dataset exactly at the target; NotAllowedError if another team's overlaps it."""
        rows = session.exec(select(Dataset).where(col(Dataset.removed_at).is_(None)))
        near = [each for each in rows if overlap(each.source, target)]
        foreign = next((each for each in near if each.team != team), None)
        if foreign is not None:
            is_known = foreign.is_for(team)
            whose = f"{foreign.name} of {foreign.team}" if is_known else "a dataset of another team"
            raise NotAllowedError(
                f"{target} overlaps {whose}.",
                "Push to a folder of your own team.",
            )
        return next((each for each in near if (each.source, each.store) == (target, store)), None)

    def _refuse_version(self, session: Session, dataset: Dataset, name: str | None) -> None:
        if name and name in {each.name for each in finding.versions(session, dataset.id)}:
            raise ConflictError(
                f"{dataset.name} already has a version {name}, and a named version never changes.",
                "Choose another name, or omit --name.",
            )
        survey = finding.live_survey(session, dataset.id)
        # A check for new content is ended by the new version.
        if survey is not None and not survey.is_refresh:
            raise ConflictError(
                f"{survey.reference} is being recorded.",
                f"Its card in <#{survey.channel}> shows the progress. Push when it has ended.",
            )

    def _row(self, caller: Caller, offer: PushOffer, datasets: Datasets, now: datetime) -> Push:
        request, push_id = offer.request, new_id()
        team = caller.team or ""
        return Push(
            id=push_id,
            workspace_id=caller.workspace_id,
            team=team,
            person=caller.person,
            channel=caller.channel,
            cluster=datasets.cluster,
            namespace=datasets.namespace,
            claim_namespace=self._settings().teams[team].namespace,
            claim_name=offer.volume.claim,
            claim_uid=offer.volume.uid,
            storage_class=offer.volume.storage_class,
            capacity_bytes=offer.volume.capacity_bytes,
            snapshot=request.snapshot,
            snapshot_uid=offer.volume.snapshot_uid,
            snapshot_at=offer.volume.at,
            folder=request.folder,
            store=offer.store,
            target=request.target,
            is_overwriting=request.is_overwriting,
            dataset=offer.dataset,
            version=request.version,
            note=request.note,
            share_id="" if request.snapshot else new_id(),
            job_name=job_name(
                f"push-{request.claim or request.snapshot or request.dataset}", push_id
            ),
            asked_at=now,
            since=now,
        )


def _begun(session: Session, caller: Caller, push: Push, action: str, now: datetime) -> Push:
    """Writes the audit line of a new push, shows its card, and wakes its controller."""
    facts = {"source": push.source, "target": push.target, "store": push.store}
    facts |= {"dataset": push.dataset} if push.dataset else {}
    facts |= {"overwrite": "yes"} if push.is_overwriting else {}
    facts |= {"message": push.message} if push.is_drop else {}
    record(session, _actor(caller), action, (PUSH, push.id), facts, at=now)
    show_card(session, push.subject, caller.channel, now, live=True, owner=caller.person)
    wake(session, PUSH, push.id, cluster_lane(push.cluster), now)
    return push


def _refuse_elsewhere(caller: Caller, message: SharedMessage | None) -> None:
    """NotAllowedError for a message that people of the caller's channel may not see."""
    if message is not None and message.channel != caller.channel:
        raise NotAllowedError(
            f"That message is in <#{message.channel}>, not here.",
            "Use the command in the channel of the message.",
        )


def _drop(push: Push, message: SharedMessage) -> Drop:
    return Drop(
        id=push.id,
        workspace_id=push.workspace_id,
        channel=message.channel,
        ts=message.ts,
        thread_ts=message.thread_ts,
        asked_at=push.asked_at,
    )


def _actor(caller: Caller) -> Actor:
    return Actor(caller.workspace_id, caller.person, caller.channel, caller.team)


def _hold(push: Push, snapshot_id: str) -> Hold:
    """A hold that keeps a snapshot from being deleted while the push reads it."""
    why = f"The push to {push.target}"
    return Hold(
        thing_kind=SNAPSHOT, thing_id=snapshot_id, subject_kind=PUSH, subject_id=push.id, why=why
    )


def _writing(session: Session) -> Sequence[Push]:
    """The pushes that have not ended, and failed ones whose Job may still exist."""
    is_going = (
        col(Push.phase) == PushPhase.FAILED,
        col(Push.is_cleared).is_(False),
        # A share is closed only once the Job is gone; a push of a snapshot has no share.
        or_(col(CacheShare.is_wanted).is_(True), col(Push.share_id) == ""),
    )
    return session.exec(
        select(Push)
        .outerjoin(CacheShare, col(CacheShare.id) == col(Push.share_id))
        .where(or_(col(Push.ended_at).is_(None), and_(*is_going)))
        .order_by(col(Push.id))
    ).all()
