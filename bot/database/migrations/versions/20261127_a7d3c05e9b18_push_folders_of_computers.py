"""push folders of computers."""

import sqlalchemy as sa
from alembic import op

revision = "a7d3c05e9b18"
down_revision = "9ca8da4feb13"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("dataset_pushes", schema=None) as batch_op:
        for name in ("box", "box_store"):
            batch_op.add_column(sa.Column(name, sa.String(), server_default="", nullable=False))


def downgrade() -> None:
    with op.batch_alter_table("dataset_pushes", schema=None) as batch_op:
        for name in ("box_store", "box"):
            batch_op.drop_column(name)
