"""find approvals by phase."""

from alembic import op

revision = '2c7d9e41b6f3'
down_revision = '6e0b1d94a7c2'
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table('approvals', schema=None) as batch_op:
        batch_op.create_index(batch_op.f('ix_approvals_phase'), ['phase'], unique=False)


def downgrade() -> None:
    with op.batch_alter_table('approvals', schema=None) as batch_op:
        batch_op.drop_index(batch_op.f('ix_approvals_phase'))
