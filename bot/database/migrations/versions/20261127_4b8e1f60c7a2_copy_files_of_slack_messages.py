"""copy files of slack messages."""

import sqlalchemy as sa
from alembic import op

from bot.database.columns import Moment

revision = "4b8e1f60c7a2"
down_revision = 'c41e8a7d60b2'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "dataset_drops",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("ts", sa.String(), nullable=False),
        sa.Column("thread_ts", sa.String(), nullable=False),
        sa.Column("asked_at", Moment(), nullable=False),
        sa.Column("phase", sa.String(), nullable=False),
        sa.Column("files", sa.JSON(), nullable=False),
        sa.Column("turns", sa.Integer(), nullable=False),
        sa.Column("listed_at", Moment(), nullable=True),
        sa.Column("missing", sa.Integer(), nullable=True),
        sa.Column("idle", sa.Integer(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("unblock", sa.String(), nullable=False),
        sa.Column("keys", sa.JSON(), nullable=False),
        sa.Column("trouble", sa.String(), nullable=False),
        sa.Column("is_cleared", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_dataset_drops")),
    )
    with op.batch_alter_table("dataset_pushes", schema=None) as batch_op:
        batch_op.add_column(sa.Column("message", sa.String(), server_default="", nullable=False))


def downgrade() -> None:
    with op.batch_alter_table("dataset_pushes", schema=None) as batch_op:
        batch_op.drop_column("message")
    op.drop_table("dataset_drops")
