"""write fewer indexes."""

import sqlalchemy as sa
from alembic import op

revision = "3aaaa095ffa3"
down_revision = "93239cc91d4f"
branch_labels = None
depends_on = None

_HAS_JOB = sa.text("job_uid IS NOT NULL")


def upgrade() -> None:
    with op.batch_alter_table("audit", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_audit_team"))
    with op.batch_alter_table("messages", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_messages_subject_id"))
    with op.batch_alter_table("runs", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_runs_job_uid"))
        batch_op.create_index(
            "ix_runs_job_uid", ["job_uid"], sqlite_where=_HAS_JOB, postgresql_where=_HAS_JOB
        )


def downgrade() -> None:
    with op.batch_alter_table("runs", schema=None) as batch_op:
        batch_op.drop_index("ix_runs_job_uid")
        batch_op.create_index(batch_op.f("ix_runs_job_uid"), ["job_uid"])
    with op.batch_alter_table("messages", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_messages_subject_id"), ["subject_id"])
    with op.batch_alter_table("audit", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_audit_team"), ["team"])
