"""A PVC on a volume of a second subscription grows, once that can be read."""

from bot.config import Settings
from bot.volumes.growths.tables import GrowthPhase
from playground.arm.estate import ACCOUNT, FURTHER, GIB, GROUP
from tests.bot.volumes.growths.growing import Growing


def test_claim_grows_in_its_own_subscription(growing: Growing) -> None:
    account = growing.arm.estate.add_account(subscription=FURTHER)
    lab = growing.arm.estate.add_pool(account, "standard", "Standard", 3)
    told = growing.policy.model_dump()
    told["anf"]["other_subscriptions"] = {FURTHER: [f"{GROUP}/{ACCOUNT}"]}
    growing.policy = Settings.model_validate(told)
    volume = growing.provision("lab-data", 1024, lab)
    assert "standard" in growing.offer("2Ti", "lab-data")
    allowed = growing.arm.app.routes.permissions_in(FURTHER)
    allowed.actions = []
    row_id = growing.grow("2Ti", claim="lab-data")
    growing.later(minutes=2)
    row = growing.growth(row_id)
    assert row.phase == GrowthPhase.CHECKING
    assert row.trouble.startswith(f"Subscription {FURTHER} could not be read.")
    allowed.actions = ["*"]
    growing.later(hours=1)
    assert growing.growth(row_id).phase == GrowthPhase.DONE
    assert (volume.quota // GIB, growing.volume.quota // GIB) == (2048, 1024)
