"""What the bot's identity may do, by the names that Azure's roles give it."""

import re

from playground.arm.errors import ArmError
from playground.arm.wire import Json

_KINDS = {1: "netAppAccounts", 2: "netAppAccounts/capacityPools"}
_VOLUMES = "netAppAccounts/capacityPools/volumes"
_VERBS = {"GET": "read", "PUT": "write", "PATCH": "write", "DELETE": "delete"}


class Permissions:
    """Patterns of actions that are allowed, and those that are not all the same."""

    def __init__(self) -> None:
        self.actions = ["Microsoft.NetApp/*"]
        self.not_actions: list[str] = []

    def require(self, action: str, scope: str) -> None:
        """ArmError, as ARM words it, where the identity may not do this."""
        is_allowed = any(_fits(each, action) for each in self.actions)
        if is_allowed and not any(_fits(each, action) for each in self.not_actions):
            return
        raise ArmError(
            403,
            "AuthorizationFailed",
            "The client '00000000-0000-0000-0000-00000000b07a' with object id"
            " '00000000-0000-0000-0000-00000000b07a' does not have authorization to perform action"
            f" '{action}' over scope '{scope}' or the scope is invalid. If access was recently"
            " granted, please refresh your credentials.",
        )

    def as_json(self) -> Json:
        """What Azure says of them."""
        row = {"actions": self.actions, "notActions": self.not_actions}
        return {"value": [{**row, "dataActions": [], "notDataActions": []}]}


def action_of(method: str, names: int, verb: str) -> str:
    """The action of a request that names so many resources, and perhaps a verb of a volume."""
    if verb:
        return f"Microsoft.NetApp/{_VOLUMES}/{verb}/action"
    kind = _KINDS.get(names, _VOLUMES)
    return f"Microsoft.NetApp/{kind}/{_VERBS.get(method, 'action')}"


def _fits(pattern: str, action: str) -> bool:
    rule = ".*".join(re.escape(each) for each in pattern.split("*"))
    return re.fullmatch(rule, action, re.IGNORECASE) is not None
