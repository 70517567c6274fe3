"""The tables of published figures, their sources and the facts of chips."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_INTEGER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "chips",
        sa.Column("id", _INTEGER, nullable=False),
        sa.Column("chip", sa.Text(), nullable=False),
        sa.Column("variant", sa.Text(), nullable=False),
        sa.Column("cpu_super", sa.Integer(), nullable=True),
        sa.Column("cpu_performance", sa.Integer(), nullable=True),
        sa.Column("cpu_efficiency", sa.Integer(), nullable=True),
        sa.Column("gpu_cores", sa.Integer(), nullable=True),
        sa.Column("bandwidth_gb_s", sa.Double(), nullable=True, comment="Memory bandwidth (GB/s)"),
        sa.Column("fp32_tflops", sa.Double(), nullable=True, comment="Published fp32 peak (TFLOP/s)"),
        sa.Column("fp16_tflops", sa.Double(), nullable=True, comment="Published fp16 peak (TFLOP/s)"),
        sa.Column("memory_options_gb", sa.Text(), nullable=True),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_chips")),
        sa.UniqueConstraint("chip", "variant", name=op.f("uq_chips_chip_variant")),
    )
    op.create_table(
        "loaded",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_loaded")),
    )
    op.create_table(
        "sources",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("date", sa.Text(), nullable=False, comment="When it was published, as far as stated"),
        sa.Column("address", sa.Text(), nullable=False, comment="Address, or repository, path and commit"),
        sa.Column("licence", sa.Text(), nullable=False),
        sa.Column("notes", sa.Text(), nullable=False, comment="What is known of the method"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sources")),
    )
    op.create_table(
        "published",
        sa.Column("id", _INTEGER, nullable=False),
        sa.Column("source_id", sa.Text(), nullable=False, comment="Row in sources"),
        sa.Column("workload", sa.Text(), nullable=False, comment="family/name, as the source means it"),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("task", sa.Text(), nullable=False),
        sa.Column("precision", sa.Text(), nullable=True),
        sa.Column("batch_size", sa.Integer(), nullable=True),
        sa.Column("input_shape", sa.Text(), nullable=True),
        sa.Column("device", sa.Text(), nullable=True),
        sa.Column("chip", sa.Text(), nullable=False),
        sa.Column("cpu_cores", sa.Integer(), nullable=True),
        sa.Column("gpu_cores", sa.Integer(), nullable=True),
        sa.Column("memory_gb", sa.Double(), nullable=True),
        sa.Column("os", sa.Text(), nullable=True),
        sa.Column("framework", sa.Text(), nullable=True),
        sa.Column("framework_version", sa.Text(), nullable=True),
        sa.Column("metric", sa.Text(), nullable=False, comment="What value counts"),
        sa.Column("value", sa.Double(), nullable=True, comment="The printed number; null unless one was printed"),
        sa.Column(
            "seconds", sa.Double(), nullable=True, comment="The same for one iteration (s), where the metric tells it"
        ),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "outcome IN ('ok', 'wrong_result', 'unsupported_op', 'out_of_memory', 'crash', 'error', 'picture_only')",
            name=op.f("ck_published_outcome"),
        ),
        sa.ForeignKeyConstraint(["source_id"], ["sources.id"], name=op.f("fk_published_source_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_published")),
    )
    op.create_index(op.f("ix_published_chip"), "published", ["chip"], unique=False)
    op.create_index(op.f("ix_published_source_id"), "published", ["source_id"], unique=False)
    op.create_index(op.f("ix_published_workload"), "published", ["workload"], unique=False)
