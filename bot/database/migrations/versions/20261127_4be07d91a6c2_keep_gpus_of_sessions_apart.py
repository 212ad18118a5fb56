"""keep gpus of sessions apart."""

import sqlalchemy as sa
from alembic import op

revision = "4be07d91a6c2"
down_revision = "c3f86a1e5d20"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("team_changes", schema=None) as batch_op:
        gpus = sa.Column("interactive_gpus", sa.Integer(), server_default="0", nullable=False)
        batch_op.add_column(gpus)
        of = sa.Column("interactive_type", sa.String(), server_default="", nullable=False)
        batch_op.add_column(of)


def downgrade() -> None:
    with op.batch_alter_table("team_changes", schema=None) as batch_op:
        for name in ("interactive_type", "interactive_gpus"):
            batch_op.drop_column(name)
