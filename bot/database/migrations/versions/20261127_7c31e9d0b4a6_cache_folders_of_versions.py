"""cache folders of versions."""

import sqlalchemy as sa
from alembic import op
from alembic.operations import BatchOperations

revision = '7c31e9d0b4a6'
down_revision = '5b8e02c41fd7'
branch_labels = None
depends_on = None

_LIVE = 'ended_at IS NULL'
_WHOLE = ['version_id', 'cluster', 'storage_class']


def upgrade() -> None:
    with op.batch_alter_table('dataset_caches', schema=None) as batch_op:
        batch_op.add_column(sa.Column('part', sa.String(), server_default='', nullable=False))
        batch_op.drop_index('ix_dataset_caches_live')
        _make_index(batch_op, [*_WHOLE, 'part'])


def downgrade() -> None:
    # An earlier release would take what holds a part for the whole version.
    op.execute(
        "UPDATE dataset_caches SET ended_at = COALESCE(ended_at, since),"
        " phase = CASE WHEN ended_at IS NULL THEN 'failed' ELSE phase END,"
        " reason = CASE WHEN ended_at IS NULL THEN 'An earlier release cannot use parts of versions.'"
        " ELSE reason END WHERE part <> ''"
    )
    with op.batch_alter_table('dataset_caches', schema=None) as batch_op:
        batch_op.drop_index('ix_dataset_caches_live')
        batch_op.drop_column('part')
        _make_index(batch_op, _WHOLE)


def _make_index(batch_op: BatchOperations, columns: list[str]) -> None:
    batch_op.create_index(
        'ix_dataset_caches_live', columns, unique=True,
        postgresql_where=sa.text(_LIVE), sqlite_where=sa.text(_LIVE),
    )
