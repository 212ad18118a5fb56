"""tell pools apart by subscription."""

from alembic import op

revision = 'd2b7f0a91c46'
down_revision = 'b03f6d9c71e8'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("UPDATE anf_pool_requests SET place_key = lower(subscription) || '/' || place_key")


def downgrade() -> None:
    op.execute(
        "UPDATE anf_pool_requests SET place_key = substr(place_key, length(subscription) + 2)"
    )
