"""keep which minutes of GPUs were asked twice."""

import sqlalchemy as sa
from alembic import op

revision = '7c1d0a94e6b2'
down_revision = '73bcdc09e74a'
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table('gpu_sampling', schema=None) as batch_op:
        batch_op.add_column(sa.Column('settled', sa.Integer(), server_default='0', nullable=False))

    op.execute('UPDATE gpu_sampling SET settled = measured')


def downgrade() -> None:
    with op.batch_alter_table('gpu_sampling', schema=None) as batch_op:
        batch_op.drop_column('settled')
