"""tell what clouds keep that is left over."""

import sqlalchemy as sa
from alembic import op

revision = "3b7f0c9d5e12"
down_revision = "1d453f4f959f"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("dataset_orphans", schema=None) as batch_op:
        batch_op.add_column(sa.Column("monthly_price", sa.Float(), nullable=True))
        batch_op.add_column(
            sa.Column("why", sa.String(), server_default=sa.text("''"), nullable=False)
        )
        batch_op.add_column(
            sa.Column("command", sa.String(), server_default=sa.text("''"), nullable=False)
        )


def downgrade() -> None:
    with op.batch_alter_table("dataset_orphans", schema=None) as batch_op:
        batch_op.drop_column("command")
        batch_op.drop_column("why")
        batch_op.drop_column("monthly_price")
