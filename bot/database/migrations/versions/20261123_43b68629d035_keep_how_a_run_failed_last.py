"""keep how a run failed last."""

import sqlalchemy as sa
from alembic import op

revision = '43b68629d035'
down_revision = '3515b4ba3d84'
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table('runs', schema=None) as batch_op:
        batch_op.add_column(sa.Column('failure', sa.JSON(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table('runs', schema=None) as batch_op:
        batch_op.drop_column('failure')
