"""look for new content of datasets."""

import sqlalchemy as sa
from alembic import op

revision = "c41f0a7be2d9"
down_revision = "1061a5a6bc51"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("dataset_versions", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column("is_refresh", sa.Boolean(), server_default=sa.false(), nullable=False)
        )


def downgrade() -> None:
    with op.batch_alter_table("dataset_versions", schema=None) as batch_op:
        batch_op.drop_column("is_refresh")
