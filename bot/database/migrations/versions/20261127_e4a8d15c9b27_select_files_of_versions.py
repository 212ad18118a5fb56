"""select files of versions."""

import sqlalchemy as sa
from alembic import op

revision = 'e4a8d15c9b27'
down_revision = '7c31e9d0b4a6'
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table('dataset_versions', schema=None) as batch_op:
        batch_op.add_column(
            sa.Column('selected_from', sa.String(), server_default='', nullable=False)
        )
        batch_op.add_column(sa.Column('selection', sa.JSON(), server_default='{}', nullable=False))


def downgrade() -> None:
    with op.batch_alter_table('dataset_versions', schema=None) as batch_op:
        batch_op.drop_column('selection')
        batch_op.drop_column('selected_from')
