"""copy objects of versions."""

import sqlalchemy as sa
from alembic import op

revision = "5b7e20c9d41f"
down_revision = '4b8e1f60c7a2'
branch_labels = None
depends_on = None

_COLUMNS = (
    ("is_sweep", sa.Boolean(), sa.false(), False),
    ("copies", sa.String(), "", False),
    ("copy_state", sa.String(), "", False),
    ("copy_price", sa.Float(), None, True),
    ("copied_files", sa.BigInteger(), "0", False),
    ("copied_bytes", sa.BigInteger(), "0", False),
    ("verified_by", sa.JSON(), "{}", False),
    ("verified_bytes", sa.JSON(), "{}", False),
)


def upgrade() -> None:
    with op.batch_alter_table("dataset_versions", schema=None) as batch_op:
        for name, kind, default, nullable in _COLUMNS:
            batch_op.add_column(sa.Column(name, kind, server_default=default, nullable=nullable))


def downgrade() -> None:
    with op.batch_alter_table("dataset_versions", schema=None) as batch_op:
        for name, *_ in reversed(_COLUMNS):
            batch_op.drop_column(name)
