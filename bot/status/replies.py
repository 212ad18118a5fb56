"""The state of the bot as people read it."""

from collections.abc import Iterator
from datetime import timedelta

from bot.durations import format_duration
from bot.slack.card import Card, Table, Tone
from bot.slack.markup import Markup, plain
from bot.slack.shortening import cut
from bot.status.service import BotStatus, ClusterStatus, DeadLetter

_OLD = timedelta(minutes=10)
_LATE = timedelta(minutes=1)
_LONGEST_REASON = 120


def status_card(status: BotStatus, *, is_admin: bool) -> Card:
    """The state for everyone; admins also see which messages could not be delivered."""
    problems = sum(1 for _ in _problems(status))
    state = f"{problems} problem{'' if problems == 1 else 's'}" if problems else "working"
    return Card(
        f"Quartermaster {status.version}",
        state=state,
        tone=Tone.WARNING if problems else Tone.GOOD,
        facts=(
            *((f"Cluster {each.name}", plain(_seen(each))) for each in status.clusters),
            ("Messages", plain(_messages(status))),
            ("Overdue", plain(_late(status))),
        ),
        table=_letters(status) if is_admin and status.letters else None,
        footer=_advice(status, is_admin=is_admin),
    )


def status_line(status: BotStatus) -> str:
    """The state in one line, without figures that always change."""
    problems = [
        f"cluster {each.name} does not respond" for each in status.clusters if _is_old(each)
    ]
    problems += [f"{kind} is overdue" for kind, lag in status.late.items() if lag >= _LATE]
    if status.failing:
        problems.append("messages fail to be sent")
    if status.dead:
        problems.append(f"{status.dead:,} messages could not be delivered")
    return f"Quartermaster {status.version}: {', '.join(problems) or 'working'}"


def _problems(status: BotStatus) -> Iterator[str]:
    yield from (each.name for each in status.clusters if _is_old(each))
    yield from (kind for kind, lag in status.late.items() if lag >= _LATE)
    if status.failing:
        yield "failing"
    if status.dead:
        yield "dead"


def _is_old(cluster: ClusterStatus) -> bool:
    return cluster.age_seconds is None or cluster.age_seconds > _OLD.total_seconds()


def _seen(cluster: ClusterStatus) -> str:
    if cluster.age_seconds is None:
        seen = "not read yet"
    else:
        seen = f"last heard {format_duration(timedelta(seconds=cluster.age_seconds))} ago"
    why = f": {cut(cluster.trouble, _LONGEST_REASON)}" if cluster.trouble else ""
    return f"engine {cluster.engine}, {seen}{why}"


def _messages(status: BotStatus) -> str:
    said = f"{status.waiting:,} to send" if status.waiting else "all sent"
    if status.failing:
        said += f", {status.failing:,} of them after a failed attempt"
    if status.dead:
        said += f", {status.dead:,} could not be delivered"
    return said


def _late(status: BotStatus) -> str:
    lags = sorted(status.late.items(), key=lambda each: each[1], reverse=True)
    late = [f"{kind} {format_duration(lag)}" for kind, lag in lags if lag >= _LATE]
    return ", ".join(late) or "none"


def _letters(status: BotStatus) -> Table:
    header = ("Not delivered to", "About", "Since (UTC)", "Why")
    return Table(header, tuple(_letter(each) for each in status.letters))


def _letter(letter: DeadLetter) -> tuple[str, ...]:
    since = f"{letter.created_at:%Y-%m-%d %H:%M}"
    return (letter.channel, letter.subject_kind, since, cut(letter.trouble, _LONGEST_REASON) or "-")


def _advice(status: BotStatus, *, is_admin: bool) -> tuple[Markup, ...]:
    if status.dead and is_admin:
        says = "Invite the bot to those channels, or remove them from quartermaster.yaml."
        return (plain(f"{says} `quartermaster doctor` checks each channel."),)
    if any(map(_is_old, status.clusters)):
        says = "What the bot shows of a cluster that it does not hear is out of date."
        return (plain(f"{says} Ask a platform admin."),)
    return ()
