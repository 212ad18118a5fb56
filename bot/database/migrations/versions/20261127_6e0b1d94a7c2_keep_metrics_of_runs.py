"""keep metrics of runs."""

import sqlalchemy as sa
from alembic import op

revision = '6e0b1d94a7c2'
down_revision = '5c1e7a90d2b4'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        'run_series',
        sa.Column('run_id', sa.String(), nullable=False),
        sa.Column('name', sa.String(), nullable=False),
        sa.Column('place', sa.Integer(), nullable=False),
        sa.Column('is_reported', sa.Boolean(), nullable=False),
        sa.Column('count', sa.Integer(), nullable=False),
        sa.Column('every', sa.Integer(), nullable=False),
        sa.Column('points', sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(['run_id'], ['runs.id'], name=op.f('fk_run_series_run_id_runs')),
        sa.PrimaryKeyConstraint('run_id', 'name', name=op.f('pk_run_series')),
    )
    with op.batch_alter_table('runs', schema=None) as batch_op:
        batch_op.add_column(
            sa.Column('series_lost', sa.JSON(), server_default='{}', nullable=False)
        )
    with op.batch_alter_table('kept_logs', schema=None) as batch_op:
        batch_op.add_column(
            sa.Column('read_to', sa.String(), server_default='', nullable=False)
        )


def downgrade() -> None:
    with op.batch_alter_table('kept_logs', schema=None) as batch_op:
        batch_op.drop_column('read_to')
    with op.batch_alter_table('runs', schema=None) as batch_op:
        batch_op.drop_column('series_lost')
    op.drop_table('run_series')
