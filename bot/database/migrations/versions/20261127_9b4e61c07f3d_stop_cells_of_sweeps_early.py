"""stop cells of sweeps early."""

import sqlalchemy as sa
from alembic import op

revision = '9b4e61c07f3d'
down_revision = 'a7d3c05e9b18'
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table('sweeps', schema=None) as batch_op:
        batch_op.add_column(
            sa.Column('stop_early', sa.String(), server_default='', nullable=False)
        )
        batch_op.add_column(sa.Column('warm_up', sa.Integer(), nullable=True))
        batch_op.add_column(
            sa.Column('min_cells', sa.Integer(), server_default='0', nullable=False)
        )
        batch_op.add_column(
            sa.Column('early_stops', sa.JSON(), server_default='{}', nullable=False)
        )
        batch_op.add_column(sa.Column('unjudged', sa.JSON(), server_default='[]', nullable=False))


def downgrade() -> None:
    with op.batch_alter_table('sweeps', schema=None) as batch_op:
        for name in ('unjudged', 'early_stops', 'min_cells', 'warm_up', 'stop_early'):
            batch_op.drop_column(name)
