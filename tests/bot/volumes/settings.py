"""The configuration of a team whose volumes are in the playground's Azure."""

from bot.config import Settings
from playground.arm.estate import SUBSCRIPTION
from tests.arm import Arm
from tests.bot.ground import CAROL, TEAM_A
from tests.bot.training.rig import LIVE_TEAM


def settings_for(arm: Arm, **others: object) -> Settings:
    """The configuration of one team, with Azure NetApp Files at that address."""
    return Settings.model_validate(
        {
            "workspace": "T0QM",
            "playground": True,
            "admins": {"people": [CAROL]},
            "teams": {"team-a": {"channels": [TEAM_A], **LIVE_TEAM}},
            "anf": {"subscription": SUBSCRIPTION, "endpoint": arm.url, **others},
        }
    )
