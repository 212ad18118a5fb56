"""export runs to mlflow."""

import sqlalchemy as sa
from alembic import op
from bot.database.columns import Moment

revision = 'a71f0c2d58e4'
down_revision = '9b4e61c07f3d'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        'mlflow_exports',
        sa.Column('run_id', sa.String(), nullable=False),
        sa.Column('begun_at', Moment(), nullable=False),
        sa.Column('phase', sa.String(), nullable=False),
        sa.Column('experiment_id', sa.String(), nullable=False),
        sa.Column('mlflow_id', sa.String(), nullable=False),
        sa.Column('described', sa.String(), nullable=False),
        sa.Column('status', sa.String(), nullable=False),
        sa.Column('written', sa.JSON(), nullable=False),
        sa.Column('trouble', sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ['run_id'], ['runs.id'], name=op.f('fk_mlflow_exports_run_id_runs')
        ),
        sa.PrimaryKeyConstraint('run_id', name=op.f('pk_mlflow_exports')),
    )
    with op.batch_alter_table('runs', schema=None) as batch_op:
        batch_op.add_column(
            sa.Column('mlflow_url', sa.String(), server_default='', nullable=False)
        )


def downgrade() -> None:
    with op.batch_alter_table('runs', schema=None) as batch_op:
        batch_op.drop_column('mlflow_url')
    op.drop_table('mlflow_exports')
