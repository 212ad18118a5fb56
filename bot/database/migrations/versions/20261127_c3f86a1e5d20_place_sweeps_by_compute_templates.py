"""place sweeps by compute templates."""

import sqlalchemy as sa
from alembic import op

revision = 'c3f86a1e5d20'
down_revision = '9d41c7e05ab3'
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table('sweeps', schema=None) as batch_op:
        batch_op.add_column(sa.Column('places', sa.JSON(), server_default='[]', nullable=False))
        batch_op.add_column(sa.Column('approved', sa.JSON(), server_default='[]', nullable=False))
    with op.batch_alter_table('run_requests', schema=None) as batch_op:
        batch_op.add_column(sa.Column('sweep', sa.JSON(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table('run_requests', schema=None) as batch_op:
        batch_op.drop_column('sweep')
    with op.batch_alter_table('sweeps', schema=None) as batch_op:
        batch_op.drop_column('approved')
        batch_op.drop_column('places')
