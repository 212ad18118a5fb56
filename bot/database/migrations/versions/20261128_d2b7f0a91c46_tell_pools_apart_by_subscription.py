"""tell pools apart by subscription."""

from alembic import op

revision = 'd2b7f0a91c46'
down_revision = 'b03f6d9c71e8'
branch_labels = None
depends_on = None

_PLACE = "lower({0}resource_group || '/' || {0}account || '/' || {0}pool)"


def upgrade() -> None:
    place = _PLACE.format("")
    op.execute(f"UPDATE anf_pool_requests SET place_key = lower(subscription) || '/' || {place}")


def downgrade() -> None:
    # An earlier release has one live request of a name. Of two, the first is known by it.
    op.execute(
        f"UPDATE anf_pool_requests SET place_key = {_PLACE.format('')}"
        " WHERE ended_at IS NOT NULL OR NOT EXISTS (SELECT 1 FROM anf_pool_requests AS earlier"
        " WHERE earlier.ended_at IS NULL AND earlier.id < anf_pool_requests.id"
        f" AND {_PLACE.format('earlier.')} = {_PLACE.format('anf_pool_requests.')})"
    )
