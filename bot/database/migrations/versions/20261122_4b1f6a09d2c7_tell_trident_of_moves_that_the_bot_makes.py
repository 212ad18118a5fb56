"""tell Trident of moves that the bot makes."""

import sqlalchemy as sa
from alembic import op

revision = "4b1f6a09d2c7"
down_revision = "08e217fa26b7"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("volume_changes") as table:
        table.add_column(
            sa.Column("is_trident", sa.Boolean(), server_default=sa.false(), nullable=False)
        )
        table.add_column(sa.Column("repair_id", sa.String(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("volume_changes") as table:
        table.drop_column("repair_id")
        table.drop_column("is_trident")
