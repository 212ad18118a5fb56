"""save flows of runs."""

import sqlalchemy as sa
from alembic import op

revision = '9d41c7e05ab3'
down_revision = '07ee07c5e24a'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table('flows',
    sa.Column('id', sa.String(), nullable=False),
    sa.Column('workspace_id', sa.String(), nullable=False),
    sa.Column('team', sa.String(), nullable=False),
    sa.Column('name', sa.String(), nullable=False),
    sa.Column('person', sa.String(), nullable=False),
    sa.Column('channel', sa.String(), nullable=False),
    sa.Column('steps', sa.JSON(), nullable=False),
    sa.Column('asked_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('scheduler', sa.String(), nullable=True),
    sa.Column('cron', sa.String(), nullable=False),
    sa.Column('time_zone', sa.String(), nullable=False),
    sa.Column('next_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('phase', sa.String(), nullable=False),
    sa.Column('last_runs', sa.JSON(), nullable=False),
    sa.Column('last_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('skipped', sa.Integer(), nullable=False),
    sa.Column('reason', sa.String(), nullable=False),
    sa.Column('unblock', sa.String(), nullable=False),
    sa.Column('obstacle', sa.String(), nullable=False),
    sa.Column('trouble', sa.String(), nullable=False),
    sa.Column('ended_at', sa.DateTime(timezone=True), nullable=True),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_flows'))
    )
    with op.batch_alter_table('flows', schema=None) as batch_op:
        batch_op.create_index('ix_flows_live', ['team', 'name'], unique=True, postgresql_where=sa.text('ended_at IS NULL'), sqlite_where=sa.text('ended_at IS NULL'))


def downgrade() -> None:
    with op.batch_alter_table('flows', schema=None) as batch_op:
        batch_op.drop_index('ix_flows_live', postgresql_where=sa.text('ended_at IS NULL'), sqlite_where=sa.text('ended_at IS NULL'))

    op.drop_table('flows')
