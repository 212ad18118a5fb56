"""record sources that equal selections."""

import sqlalchemy as sa
from alembic import op

revision = 'b03f6d9c71e8'
down_revision = 'e4a8d15c9b27'
branch_labels = None
depends_on = None

_READY = "phase = 'ready'"


def upgrade() -> None:
    _index(f"{_READY} AND selected_from = ''")


def downgrade() -> None:
    # An earlier release allows a content once. Of two, that of the whole source stays.
    op.execute(
        "UPDATE dataset_versions SET phase = 'failed',"
        " reason = 'An earlier release cannot have the same files twice.'"
        f" WHERE {_READY} AND selected_from <> '' AND EXISTS (SELECT 1 FROM dataset_versions AS whole"
        " WHERE whole.dataset_id = dataset_versions.dataset_id"
        " AND whole.digest = dataset_versions.digest"
        " AND whole.phase = 'ready' AND whole.id <> dataset_versions.id)"
    )
    _index(_READY)


def _index(where: str) -> None:
    with op.batch_alter_table('dataset_versions', schema=None) as batch_op:
        batch_op.drop_index('ix_dataset_versions_digest')
        batch_op.create_index(
            'ix_dataset_versions_digest', ['dataset_id', 'digest'], unique=True,
            postgresql_where=sa.text(where), sqlite_where=sa.text(where),
        )
