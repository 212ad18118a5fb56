"""Who a person is to the bot, and what they may do where they ask."""

from collections.abc import Iterable, Mapping, Sequence

from bot.people.access import Caller
from bot.rights import EVERYBODY, RULES, ChannelPlace, Right, Role
from bot.slack.card import Card
from bot.slack.markup import FormatCommand, Markup, code, join, plain, sentence

_PLACES = {
    ChannelPlace.TEAM: "a team's channel",
    ChannelPlace.APPROVALS: "the channel of approvals",
    ChannelPlace.DIRECT: "a direct message",
    ChannelPlace.ELSEWHERE: "a channel of no team",
}


def whoami_card(
    name: str, caller: Caller, teams: Mapping[str, frozenset[Role]], format_command: FormatCommand
) -> Card:
    """The person's team, roles and rights in this channel, and what the other rights require."""
    all_teams = ", ".join(f"{team} ({_roles(roles)})" for team, roles in teams.items())
    return Card(
        f"You are {name}",
        facts=(
            ("Here", plain(_PLACES[caller.place])),
            ("Team", plain(caller.team or "none")),
            ("Roles", plain(_roles(caller.roles) or "none")),
            ("Teams", plain(all_teams or "none")),
            ("You may", _rights([right for right in Right if caller.may(right)])),
            *_refused(caller),
        ),
        footer=(*_advice(caller, teams), _help(format_command)),
    )


def _refused(caller: Caller) -> Iterable[tuple[str, Markup]]:
    """The rights that the person does not have here, by what they require."""
    by_place = [right for right in Right if caller.place not in RULES[right].places]
    if by_place:
        yield "Not in this channel", _rights(by_place)
    needed: dict[str, list[Right]] = {}
    for right in Right:
        if right not in by_place and not caller.may(right):
            needed.setdefault(_any_of(RULES[right].roles or EVERYBODY), []).append(right)
    for roles, rights in needed.items():
        yield f"Requires {roles}", _rights(rights)


def _rights(rights: Sequence[Right]) -> Markup:
    """The rights by their subject: `run` submit, read; `quota` read."""
    subjects: dict[str, list[str]] = {}
    for right in rights:
        subject, _, verb = right.value.partition(".")
        subjects.setdefault(subject, []).append(verb)
    named = [
        join(code(each), " ", plain(", ".join(filter(None, verbs))))
        for each, verbs in subjects.items()
    ]
    return Markup("; ".join(part.rstrip() for part in named)) or plain("nothing here")


def _roles(roles: frozenset[Role]) -> str:
    return ", ".join(role.value for role in Role if role in roles)


def _any_of(roles: frozenset[Role]) -> str:
    *most, last = [role.value for role in Role if role in roles]
    return f"{', '.join(most)} or {last}" if most else last


def _advice(caller: Caller, teams: Mapping[str, frozenset[Role]]) -> Iterable[Markup]:
    if not teams and not caller.roles:
        yield plain("You belong to no team. Ask a platform admin to add you to one.")
    elif caller.place is ChannelPlace.ELSEWHERE:
        yield plain("Use your team's channel or a direct message.")
    elif caller.team is None and len(teams) > 1:
        yield plain(f"Add --team with one of: {', '.join(teams)}.")


def _help(format_command: FormatCommand) -> Markup:
    return join(code(format_command("qm help")), " lists the commands that you can use here.")


def arrival_lines(
    channel_id: str, place: ChannelPlace, team: str | None, format_command: FormatCommand
) -> tuple[Markup, ...]:
    """What the bot says when it was added to a channel: whose it is, and what works there."""
    if place is ChannelPlace.TEAM and team:
        return (
            sentence(f"This channel belongs to {team}."),
            join(
                code(format_command("train submit")), " starts a run, ",
                code(format_command("quota status")), " shows the team's GPUs, and ",
                code(format_command("qm help")), " lists all commands.",
            ),
        )  # fmt: skip
    if place is ChannelPlace.APPROVALS:
        return (
            sentence("Requests for approval are posted in this channel."),
            join(code(format_command("approval list")), " shows those that are open."),
        )
    return (
        sentence(
            "This channel belongs to no team, so commands about a team's runs, data and quota are"
            " refused here. Digests and notices can be posted here."
        ),
        join(
            "For a team's channel, a platform admin adds ", code(channel_id), " to ",
            code("teams.NAME.channels"), " in quartermaster.yaml; that takes effect within"
            " seconds.",
        ),
    )  # fmt: skip
