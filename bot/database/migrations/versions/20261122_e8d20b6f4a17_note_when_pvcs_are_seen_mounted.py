"""note when pvcs are seen mounted."""

import sqlalchemy as sa
from alembic import op

import bot.database.columns

revision = "e8d20b6f4a17"
down_revision = "1f937b9de94e"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "claim_sights",
        sa.Column("cluster", sa.String(), nullable=False),
        sa.Column("uid", sa.String(), nullable=False),
        sa.Column("seen_at", bot.database.columns.Moment(), nullable=False),
        sa.Column("mounted_at", bot.database.columns.Moment(), nullable=True),
        sa.PrimaryKeyConstraint("cluster", "uid", name=op.f("pk_claim_sights")),
    )


def downgrade() -> None:
    op.drop_table("claim_sights")
