"""name the clusters of caches."""

import sqlalchemy as sa
from alembic import op

revision = '5b8e02c41fd7'
down_revision = '5c0e7d31a2f4'
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table('dataset_caches', schema=None) as batch_op:
        batch_op.add_column(sa.Column('named_cluster', sa.String(), server_default='', nullable=False))

    with op.batch_alter_table('run_offers', schema=None) as batch_op:
        batch_op.add_column(sa.Column('places', sa.JSON(), server_default='[]', nullable=False))


def downgrade() -> None:
    with op.batch_alter_table('run_offers', schema=None) as batch_op:
        batch_op.drop_column('places')

    with op.batch_alter_table('dataset_caches', schema=None) as batch_op:
        batch_op.drop_column('named_cluster')
