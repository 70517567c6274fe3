"""Evidence of each case: whether its output was right, memory, switches, sustained work."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_INTEGER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the columns; cases measured before keep null, which says that nobody looked."""
    with op.batch_alter_table("cases", schema=None) as batch_op:
        batch_op.drop_constraint("uq_cases_run_id_workload_version_device_precision_mode", type_="unique")
        batch_op.add_column(
            sa.Column(
                "fallback",
                sa.Boolean(),
                nullable=False,
                comment="Whether operations that the backend lacks were let run on the CPU; such a row is never ranked",
                server_default=sa.false(),
            )
        )
        batch_op.create_unique_constraint(
            "uq_cases_run_id_workload_version_device_precision_mode_fallback",
            ["run_id", "workload", "version", "device", "precision", "mode", "fallback"],
        )
        batch_op.add_column(
            sa.Column(
                "needed_bytes", _INTEGER, nullable=True, comment="Estimate of the memory that the case needs (bytes)"
            )
        )
        batch_op.add_column(
            sa.Column(
                "limit_bytes",
                _INTEGER,
                nullable=True,
                comment="Memory that the device recommends to stay under (bytes)",
            )
        )
        batch_op.add_column(
            sa.Column(
                "settings",
                sa.JSON(),
                nullable=False,
                comment="Switches of torch that change speed or precision, as they were set",
                server_default="{}",
            )
        )
        batch_op.add_column(
            sa.Column(
                "truth_reference",
                sa.Text(),
                nullable=True,
                comment="What it was compared with: cpu fp32, or cpu fp64 for the CPU's own fp32",
            )
        )
        batch_op.add_column(
            sa.Column("truth_samples", _INTEGER, nullable=True, comment="Samples of the batch that were compared")
        )
        batch_op.add_column(
            sa.Column(
                "truth_error_norm",
                sa.Double(),
                nullable=True,
                comment="Norm of the difference over the norm of the reference",
            )
        )
        batch_op.add_column(
            sa.Column("truth_error_max", sa.Double(), nullable=True, comment="Largest single difference, absolute")
        )
        batch_op.add_column(
            sa.Column(
                "truth_error_max_rms",
                sa.Double(),
                nullable=True,
                comment="Largest single difference over the root mean square of the reference",
            )
        )
        batch_op.add_column(
            sa.Column(
                "truth_tolerance",
                sa.Double(),
                nullable=True,
                comment="Largest error_norm allowed; error_max_rms may be 30 times that",
            )
        )
        batch_op.add_column(
            sa.Column(
                "truth_input_dependence",
                sa.Double(),
                nullable=True,
                comment="Norm of the difference of two inputs' outputs over the norm of one",
            )
        )
        batch_op.add_column(
            sa.Column(
                "truth_loss_error", sa.Double(), nullable=True, comment="Relative difference of the first training loss"
            )
        )
        batch_op.add_column(
            sa.Column(
                "truth_gradient_error",
                sa.Double(),
                nullable=True,
                comment="Relative difference of the first gradient norm",
            )
        )
        batch_op.add_column(
            sa.Column("truth_losses", sa.JSON(), nullable=True, comment="Losses of five training steps on one batch")
        )
        batch_op.add_column(
            sa.Column("sustained_iterations", _INTEGER, nullable=True, comment="Iterations in every timed block")
        )
        batch_op.add_column(
            sa.Column(
                "sustained_block_ns", sa.JSON(), nullable=True, comment="Duration of each timed block, in order (ns)"
            )
        )
        batch_op.add_column(
            sa.Column(
                "sustained_energy_j", sa.Double(), nullable=True, comment="Energy that the device took meanwhile (J)"
            )
        )
        batch_op.add_column(
            sa.Column(
                "sustained_energy_source", sa.Text(), nullable=True, comment="Which counter the energy comes from"
            )
        )

    with op.batch_alter_table("rounds", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column(
                "per_call_ns",
                sa.JSON(),
                nullable=True,
                comment="Durations of single iterations, each waited for; where one takes under 5 ms (ns)",
            )
        )
        batch_op.add_column(
            sa.Column("peak_memory_bytes", _INTEGER, nullable=True, comment="Most device memory in use (bytes)")
        )
        batch_op.add_column(
            sa.Column(
                "peak_memory_source",
                sa.Text(),
                nullable=True,
                comment="counter, or sampled: the most seen in one untimed iteration",
            )
        )
        batch_op.add_column(
            sa.Column(
                "process_peak_bytes", _INTEGER, nullable=True, comment="Most memory of the process so far (bytes)"
            )
        )
        batch_op.add_column(
            sa.Column(
                "probe_enqueue_ns",
                _INTEGER,
                nullable=True,
                comment="Time to enqueue a large matmul, in this worker (ns)",
            )
        )
        batch_op.add_column(
            sa.Column(
                "probe_synchronized_ns",
                _INTEGER,
                nullable=True,
                comment="Time to enqueue the same matmul and wait for it (ns)",
            )
        )
