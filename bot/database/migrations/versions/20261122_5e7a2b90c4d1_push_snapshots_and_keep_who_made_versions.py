"""push snapshots and keep who made versions."""

import sqlalchemy as sa
from alembic import op

revision = "5e7a2b90c4d1"
down_revision = "9c2e51d7b804"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("dataset_pushes", schema=None) as batch_op:
        for name in ("snapshot", "snapshot_uid", "volume_name", "retained"):
            batch_op.add_column(sa.Column(name, sa.String(), server_default="", nullable=False))
        batch_op.add_column(sa.Column("snapshot_at", sa.DateTime(timezone=True), nullable=True))
    with op.batch_alter_table("dataset_versions", schema=None) as batch_op:
        batch_op.add_column(sa.Column("made_by", sa.JSON(), server_default="[]", nullable=False))


def downgrade() -> None:
    with op.batch_alter_table("dataset_versions", schema=None) as batch_op:
        batch_op.drop_column("made_by")
    with op.batch_alter_table("dataset_pushes", schema=None) as batch_op:
        for name in ("snapshot", "snapshot_uid", "volume_name", "retained", "snapshot_at"):
            batch_op.drop_column(name)
