"""sweep parameters of runs."""

import sqlalchemy as sa
from alembic import op

revision = '5e2b7c90d14f'
down_revision = 'ba8a6ca3a444'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table('sweeps',
    sa.Column('id', sa.String(), nullable=False),
    sa.Column('workspace_id', sa.String(), nullable=False),
    sa.Column('team', sa.String(), nullable=False),
    sa.Column('name', sa.String(), nullable=False),
    sa.Column('person', sa.String(), nullable=False),
    sa.Column('channel', sa.String(), nullable=False),
    sa.Column('cluster', sa.String(), nullable=False),
    sa.Column('spec', sa.JSON(), nullable=False),
    sa.Column('parameters', sa.JSON(), nullable=False),
    sa.Column('at_most', sa.Integer(), nullable=True),
    sa.Column('metric', sa.String(), nullable=False),
    sa.Column('best', sa.String(), nullable=False),
    sa.Column('asked_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('stop_by', sa.String(), nullable=True),
    sa.Column('stop_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('phase', sa.String(), nullable=False),
    sa.Column('since', sa.DateTime(timezone=True), nullable=False),
    sa.Column('reason', sa.String(), nullable=False),
    sa.Column('unblock', sa.String(), nullable=False),
    sa.Column('obstacle', sa.String(), nullable=False),
    sa.Column('trouble', sa.String(), nullable=False),
    sa.Column('ended_at', sa.DateTime(timezone=True), nullable=True),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_sweeps'))
    )
    with op.batch_alter_table('sweeps', schema=None) as batch_op:
        batch_op.create_index('ix_sweeps_live', ['team', 'name'], unique=True, postgresql_where=sa.text('ended_at IS NULL'), sqlite_where=sa.text('ended_at IS NULL'))
        batch_op.create_index('ix_sweeps_team_name', ['team', 'name', 'id'], unique=False)


def downgrade() -> None:
    with op.batch_alter_table('sweeps', schema=None) as batch_op:
        batch_op.drop_index('ix_sweeps_team_name')
        batch_op.drop_index('ix_sweeps_live', postgresql_where=sa.text('ended_at IS NULL'), sqlite_where=sa.text('ended_at IS NULL'))

    op.drop_table('sweeps')
