"""The tables of measured runs."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_INTEGER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "conditions",
        sa.Column("id", _INTEGER, nullable=False),
        sa.Column("power_source", sa.Text(), nullable=True, comment="ac or battery"),
        sa.Column("power_mode", sa.Text(), nullable=True, comment="automatic, low or high"),
        sa.Column("low_power_mode", sa.Boolean(), nullable=True, comment="Whether low power mode is on"),
        sa.Column("thermal_state", sa.Text(), nullable=True, comment="Thermal state as the system names it"),
        sa.Column(
            "cpu_speed_limit", _INTEGER, nullable=True, comment="CPU speed limit of pmset (Intel Macs) (percent)"
        ),
        sa.Column("swap_used_bytes", _INTEGER, nullable=True, comment="Swap in use (bytes)"),
        sa.Column(
            "memory_available_bytes", _INTEGER, nullable=True, comment="Memory available without swapping (bytes)"
        ),
        sa.Column("load_1m", sa.Double(), nullable=True, comment="Load average of the last minute"),
        sa.Column("niceness", _INTEGER, nullable=True, comment="Nice value of the process"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_conditions")),
    )
    op.create_table(
        "machines",
        sa.Column("id", _INTEGER, nullable=False),
        sa.Column(
            "machine_id",
            sa.Text(),
            nullable=True,
            comment="Hash that names the configuration; null where a part of it is unknown",
        ),
        sa.Column("digest", sa.Text(), nullable=False, comment="Hash of all fields"),
        sa.Column(
            "vendor", sa.Text(), nullable=True, comment="Maker of the processor, in small letters: apple, intel, amd"
        ),
        sa.Column("chip", sa.Text(), nullable=True, comment="Marketing name of the SoC or CPU, without ' (Virtual)'"),
        sa.Column("soc", sa.Text(), nullable=True, comment="The SoC's own number, such as T6041"),
        sa.Column("model_identifier", sa.Text(), nullable=True, comment="Model of the computer, such as Mac16,1"),
        sa.Column("cpu_cores", _INTEGER, nullable=True, comment="All physical CPU cores"),
        sa.Column(
            "tier_counts", sa.JSON(), nullable=True, comment="CPU cores of each performance level, fastest level first"
        ),
        sa.Column(
            "cpu_tiers", sa.JSON(), nullable=True, comment="Name and cores of each performance level, fastest first"
        ),
        sa.Column("gpu_name", sa.Text(), nullable=True, comment="Name of the GPU that torch can use"),
        sa.Column("gpu_cores", _INTEGER, nullable=True, comment="GPU cores (Apple) or multiprocessors (NVIDIA)"),
        sa.Column("gpu_count", _INTEGER, nullable=True, comment="GPUs that the system lists"),
        sa.Column("gpu_memory_bytes", _INTEGER, nullable=True, comment="Memory of one discrete GPU (bytes)"),
        sa.Column("memory_bytes", _INTEGER, nullable=True, comment="Installed memory (bytes)"),
        sa.Column(
            "memory_total_bytes",
            _INTEGER,
            nullable=True,
            comment="Memory that the kernel reports, a little under what is installed (bytes)",
        ),
        sa.Column("arch", sa.Text(), nullable=True, comment="Architecture of the hardware: arm64 or x86_64"),
        sa.Column("virtual", sa.Boolean(), nullable=True, comment="Whether this is a virtual machine"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_machines")),
        sa.UniqueConstraint("digest", name=op.f("uq_machines_digest")),
    )
    op.create_index(op.f("ix_machines_machine_id"), "machines", ["machine_id"], unique=False)
    op.create_table(
        "software",
        sa.Column("id", _INTEGER, nullable=False),
        sa.Column("digest", sa.Text(), nullable=False, comment="Hash of all fields"),
        sa.Column("os_name", sa.Text(), nullable=True, comment="macOS or Linux"),
        sa.Column("os_version", sa.Text(), nullable=True, comment="Version of macOS or of the Linux distribution"),
        sa.Column("os_build", sa.Text(), nullable=True, comment="Build of macOS, such as 25A354"),
        sa.Column("kernel", sa.Text(), nullable=True, comment="Kernel release"),
        sa.Column("process_arch", sa.Text(), nullable=True, comment="Architecture of the Python process"),
        sa.Column("rosetta", sa.Boolean(), nullable=True, comment="Whether the process runs under Rosetta"),
        sa.Column("python_version", sa.Text(), nullable=True, comment="Version of Python"),
        sa.Column("torch_version", sa.Text(), nullable=True, comment="Version of torch"),
        sa.Column("torch_git", sa.Text(), nullable=True, comment="Commit torch was built from"),
        sa.Column(
            "torch_debug",
            sa.Boolean(),
            nullable=True,
            comment="Whether torch is a debug build, whose times mean nothing",
        ),
        sa.Column("torchvision_version", sa.Text(), nullable=True, comment="Version of torchvision"),
        sa.Column("timm_version", sa.Text(), nullable=True, comment="Version of timm"),
        sa.Column("transformers_version", sa.Text(), nullable=True, comment="Version of transformers"),
        sa.Column("metalmark_version", sa.Text(), nullable=True, comment="Version of Metalmark"),
        sa.Column(
            "environment", sa.JSON(), nullable=False, comment="Environment variables that change results, by allow-list"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_software")),
        sa.UniqueConstraint("digest", name=op.f("uq_software_digest")),
    )
    op.create_table(
        "workloads",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("task", sa.String(length=40), nullable=False, comment="inference, train or operation"),
        sa.Column("batch", _INTEGER, nullable=False),
        sa.Column("input_shape", sa.Text(), nullable=False),
        sa.Column("item", sa.Text(), nullable=False),
        sa.Column("items_per_iteration", sa.Double(), nullable=False, comment="Items in one iteration"),
        sa.Column(
            "flops_per_iteration",
            sa.Double(),
            nullable=True,
            comment="Floating-point operations of one iteration, a multiply-add counting 2 (FLOP)",
        ),
        sa.Column(
            "bytes_per_iteration",
            sa.Double(),
            nullable=True,
            comment="Least bytes moved through memory in one iteration (bytes)",
        ),
        sa.Column("parameters", _INTEGER, nullable=True, comment="Trainable parameters of the model"),
        sa.Column("description", sa.Text(), nullable=False, comment="What it is and where it comes from, as Markdown"),
        sa.CheckConstraint("task IN ('inference', 'train', 'operation')", name=op.f("ck_workloads_task")),
        sa.PrimaryKeyConstraint("id", "version", name=op.f("pk_workloads")),
    )
    op.create_table(
        "runs",
        sa.Column("id", _INTEGER, nullable=False),
        sa.Column("machine_id", _INTEGER, nullable=False, comment="Row in machines"),
        sa.Column("software_id", _INTEGER, nullable=False, comment="Row in software"),
        sa.Column("conditions_before_id", _INTEGER, nullable=False, comment="State before"),
        sa.Column("conditions_after_id", _INTEGER, nullable=True, comment="State after"),
        sa.Column("finished", sa.Boolean(), nullable=False, comment="Whether the run came to its end"),
        sa.Column("started_at", sa.Text(), nullable=False, comment="Start in UTC, ISO 8601 to the second"),
        sa.Column("effort", sa.String(length=40), nullable=False, comment="quick, standard or full"),
        sa.Column("seed", _INTEGER, nullable=False, comment="Seed of inputs, weights and order"),
        sa.CheckConstraint("effort IN ('quick', 'standard', 'full')", name=op.f("ck_runs_effort")),
        sa.ForeignKeyConstraint(["conditions_after_id"], ["conditions.id"], name=op.f("fk_runs_conditions_after_id")),
        sa.ForeignKeyConstraint(["conditions_before_id"], ["conditions.id"], name=op.f("fk_runs_conditions_before_id")),
        sa.ForeignKeyConstraint(["machine_id"], ["machines.id"], name=op.f("fk_runs_machine_id")),
        sa.ForeignKeyConstraint(["software_id"], ["software.id"], name=op.f("fk_runs_software_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
    )
    op.create_index(op.f("ix_runs_machine_id"), "runs", ["machine_id"], unique=False)
    op.create_table(
        "cases",
        sa.Column("id", _INTEGER, nullable=False),
        sa.Column("run_id", _INTEGER, nullable=False, comment="Row in runs"),
        sa.Column("median_s", sa.Double(), nullable=True, comment="Centre of the samples (s per iteration)"),
        sa.Column("low_s", sa.Double(), nullable=True, comment="Lower end of the 95 % interval (s)"),
        sa.Column("high_s", sa.Double(), nullable=True, comment="Upper end of the 95 % interval (s)"),
        sa.Column("interval", sa.Text(), nullable=True, comment="What the interval comes from"),
        sa.Column("samples", sa.Integer(), nullable=False, comment="Timed blocks of all rounds"),
        sa.Column("workload", sa.Text(), nullable=False, comment="Name of the workload"),
        sa.Column("version", _INTEGER, nullable=False, comment="Version of the workload"),
        sa.Column("device", sa.Text(), nullable=False, comment="cpu, mps, cuda or xpu"),
        sa.Column("precision", sa.String(length=40), nullable=False, comment="Number format"),
        sa.Column("mode", sa.String(length=40), nullable=False, comment="eager or compile"),
        sa.Column("outcome", sa.String(length=40), nullable=False, comment="How the case ended"),
        sa.Column("reason", sa.String(length=40), nullable=True, comment="Why it was not run, or which error it was"),
        sa.Column("detail", sa.Text(), nullable=True, comment="What the system said, scrubbed"),
        sa.Column("device_chip", sa.Text(), nullable=True, comment="What the row is charted under"),
        sa.Column("fallback_ops", sa.JSON(), nullable=False, comment="Operations that ran on the CPU instead"),
        sa.Column("flags", sa.JSON(), nullable=False, comment="Remarks of the engine, such as few_samples"),
        sa.CheckConstraint("mode IN ('eager', 'compile')", name=op.f("ck_cases_mode")),
        sa.CheckConstraint(
            "outcome <> 'ok' OR (median_s IS NOT NULL AND median_s > 0)", name=op.f("ck_cases_ok_has_median")
        ),
        sa.CheckConstraint(
            "outcome IN ('ok', 'wrong_result', 'unsupported_op', 'out_of_memory', 'crash', 'timeout', 'no_backend', "
            "'error', 'not_run')",
            name=op.f("ck_cases_outcome"),
        ),
        sa.CheckConstraint(
            "precision IN ('fp32', 'tf32', 'fp16', 'bf16', 'amp_fp16', 'amp_bf16')", name=op.f("ck_cases_precision")
        ),
        sa.CheckConstraint(
            "reason IN ('memory_estimate', 'time_estimate', 'budget', 'no_compiler', 'interrupted', 'unsynchronized')",
            name=op.f("ck_cases_reason"),
        ),
        sa.CheckConstraint("low_s <= median_s AND median_s <= high_s", name=op.f("ck_cases_interval_order")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_cases_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cases")),
        sa.UniqueConstraint(
            "run_id",
            "workload",
            "version",
            "device",
            "precision",
            "mode",
            name=op.f("uq_cases_run_id_workload_version_device_precision_mode"),
        ),
    )
    op.create_index(
        op.f("ix_cases_workload_device_precision_mode"),
        "cases",
        ["workload", "device", "precision", "mode"],
        unique=False,
    )
    op.create_table(
        "rounds",
        sa.Column("id", _INTEGER, nullable=False),
        sa.Column("case_id", _INTEGER, nullable=False, comment="Row in cases"),
        sa.Column("number", _INTEGER, nullable=False, comment="Number of the round, from 0"),
        sa.Column("iterations", _INTEGER, nullable=False),
        sa.Column("block_ns", sa.JSON(), nullable=False, comment="Duration of each timed block, in order (ns)"),
        sa.Column(
            "first_call_ns", _INTEGER, nullable=True, comment="Duration of the very first iteration, kept apart (ns)"
        ),
        sa.Column("warmup_iterations", _INTEGER, nullable=True, comment="Iterations before the first timed block"),
        sa.Column(
            "enqueue_ns",
            _INTEGER,
            nullable=True,
            comment="Time to enqueue one block without waiting (information) (ns)",
        ),
        sa.Column(
            "residual_ns",
            _INTEGER,
            nullable=True,
            comment="Median wait for one element of the output after a synchronized block (ns)",
        ),
        sa.ForeignKeyConstraint(["case_id"], ["cases.id"], name=op.f("fk_rounds_case_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rounds")),
        sa.UniqueConstraint("case_id", "number", name=op.f("uq_rounds_case_id_number")),
    )
