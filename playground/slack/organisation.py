"""What differs where an app is installed to a whole Enterprise Grid organisation."""

from playground.slack.arguments import Arguments
from playground.slack.errors import SlackError
from playground.slack.people import ORGANISATION, ORGANISATION_NAME, SISTER, TEAM
from playground.slack.shapes import Json

WORKSPACES = frozenset({TEAM, SISTER})
"""The workspaces that the app was added to."""


def interaction(payload: Json) -> Json:
    """The payload of a click, form or shortcut: it names the organisation, and no workspace."""
    organisation = {"id": ORGANISATION, "name": ORGANISATION_NAME}
    return {**payload, "team": None, "enterprise": organisation, "is_enterprise_install": True}


def slash(payload: Json) -> Json:
    """The payload of a slash command."""
    return {
        **payload,
        "enterprise_id": ORGANISATION,
        "enterprise_name": ORGANISATION_NAME,
        "is_enterprise_install": "true",
    }


def event(payload: Json) -> Json:
    """The payload of an event: the installation is the organisation's."""
    (installation,) = payload["authorizations"]
    installation = {
        **installation,
        "enterprise_id": ORGANISATION,
        "team_id": None,
        "is_enterprise_install": True,
    }
    return {
        **payload,
        "enterprise_id": ORGANISATION,
        "context_enterprise_id": ORGANISATION,
        "authorizations": [installation],
    }


def identity() -> Json:
    """What auth.test says of an app's token for all of the organisation."""
    return {
        "team": ORGANISATION_NAME,
        "team_id": ORGANISATION,
        "enterprise_id": ORGANISATION,
        "is_enterprise_install": True,
    }


def require_workspace(args: Arguments) -> None:
    """Raises SlackError unless `team_id` says which of the app's workspaces a call is about."""
    workspace = args.text("team_id")
    if workspace is None:
        raise SlackError("missing_argument")
    if workspace not in WORKSPACES:
        raise SlackError("team_access_not_granted")
