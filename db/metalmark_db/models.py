"""The tables, as SQLAlchemy 2 models; columns that hold a field of a record derive from its definition."""

from typing import Any, ClassVar

from msgspec import Struct
from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, Integer, MetaData, Text, UniqueConstraint
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from .aggregates import CellRow, SummaryRow
from .columns import columns_of
from .record import Case, Conditions, Machine, Round, RunHead, Software, Workload
from .words import GRADES, PUBLISHED_OUTCOMES, Effort, Mode, Outcome, Precision, Reason, Task

_NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}
_KEY = BigInteger().with_variant(Integer(), "sqlite")


class Base(DeclarativeBase):
    """Common ground of the tables; ``fields_of`` adds the columns of a record type."""

    metadata = MetaData(naming_convention=_NAMES)
    struct: ClassVar[type[Struct] | None] = None

    def __init_subclass__(
        cls, fields_of: type[Struct] | None = None, leave_out: tuple[str, ...] = (), **kwargs: Any
    ) -> None:
        if fields_of is not None:
            cls.struct = fields_of
            declared = (*leave_out, *cls.__dict__)  # a key of the table keeps its own declaration
            for name, column in columns_of(fields_of, leave_out=declared).items():
                setattr(cls, name, column)
        super().__init_subclass__(**kwargs)


def one_of(column: str, words: Any) -> CheckConstraint:
    """A check that a column holds one of the words of a closed vocabulary, or nothing."""
    listed = ", ".join(f"'{word}'" for word in words)
    return CheckConstraint(f"{column} IN ({listed})", name=column)


class MachineRow(Base, fields_of=Machine):
    """Hardware configurations; equal ones share a row."""

    __tablename__ = "machines"
    id: Mapped[int] = mapped_column(_KEY, primary_key=True)
    machine_id: Mapped[str | None] = mapped_column(
        Text, index=True, comment="Hash that names the configuration; null where a part of it is unknown"
    )
    digest: Mapped[str] = mapped_column(Text, unique=True, comment="Hash of all fields")
    bin: Mapped[str | None] = mapped_column(Text, comment="Which of the chip's bins this is, told by its cores")


class SoftwareRow(Base, fields_of=Software):
    """Combinations of software; equal ones share a row."""

    __tablename__ = "software"
    id: Mapped[int] = mapped_column(_KEY, primary_key=True)
    digest: Mapped[str] = mapped_column(Text, unique=True, comment="Hash of all fields")
    torch_minor: Mapped[str | None] = mapped_column(
        Text, comment="Release of torch without its last part, such as 2.14"
    )
    os_major: Mapped[str | None] = mapped_column(Text, comment="System with the release of macOS: macOS 26, or Linux")


class ConditionsRow(Base, fields_of=Conditions):
    """State of the machine before and after a run."""

    __tablename__ = "conditions"
    id: Mapped[int] = mapped_column(_KEY, primary_key=True)


class RunRecord(Base, fields_of=RunHead, leave_out=("machine", "software", "conditions_before")):
    """Runs: one sitting each."""

    __tablename__ = "runs"
    __table_args__ = (
        one_of("effort", Effort),
        Index("uq_runs_digest", "digest", unique=True),
    )
    id: Mapped[int] = mapped_column(_KEY, primary_key=True)
    machine_id: Mapped[int] = mapped_column(ForeignKey("machines.id"), index=True, comment="Row in machines")
    software_id: Mapped[int] = mapped_column(ForeignKey("software.id"), comment="Row in software")
    conditions_before_id: Mapped[int] = mapped_column(ForeignKey("conditions.id"), comment="State before")
    conditions_after_id: Mapped[int | None] = mapped_column(ForeignKey("conditions.id"), comment="State after")
    finished: Mapped[bool] = mapped_column(default=False, comment="Whether the run came to its end")
    digest: Mapped[str | None] = mapped_column(Text, comment="Digest of the run's document; null until a sitting ended")
    handle: Mapped[str | None] = mapped_column(Text, comment="Whom to credit, where the document names somebody")


class WorkloadRecord(Base, fields_of=Workload):
    """Workloads by name and version."""

    __tablename__ = "workloads"
    __table_args__ = (one_of("task", Task),)
    id: Mapped[str] = mapped_column(Text, primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)


class CaseRecord(Base, fields_of=Case, leave_out=("rounds",)):
    """Cases: one workload on one device, in one precision and one mode, of one run."""

    __tablename__ = "cases"
    __table_args__ = (
        UniqueConstraint("run_id", "workload", "version", "device", "precision", "mode", "fallback"),
        Index(None, "workload", "device_chip"),
        one_of("outcome", Outcome),
        one_of("reason", Reason),
        one_of("precision", Precision),
        one_of("mode", Mode),
        CheckConstraint("outcome <> 'ok' OR (median_s IS NOT NULL AND median_s > 0)", name="ok_has_median"),
        CheckConstraint("low_s <= median_s AND median_s <= high_s", name="interval_order"),
    )
    id: Mapped[int] = mapped_column(_KEY, primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), comment="Row in runs")
    median_s: Mapped[float | None] = mapped_column(comment="Centre of the samples (s per iteration)")
    low_s: Mapped[float | None] = mapped_column(comment="Lower end of the 95 % interval (s)")
    high_s: Mapped[float | None] = mapped_column(comment="Upper end of the 95 % interval (s)")
    interval: Mapped[str | None] = mapped_column(Text, comment="What the interval comes from")
    samples: Mapped[int] = mapped_column(default=0, comment="Timed blocks of all rounds")


class RoundRecord(Base, fields_of=Round):
    """Raw samples: one row for each case and round."""

    __tablename__ = "rounds"
    __table_args__ = (UniqueConstraint("case_id", "number"),)
    id: Mapped[int] = mapped_column(_KEY, primary_key=True)
    case_id: Mapped[int] = mapped_column(ForeignKey("cases.id", ondelete="CASCADE"), comment="Row in cases")


class TouchedRecord(Base):
    """Runs that have changed since summary and cells were made; a row for every change, so that none is lost."""

    __tablename__ = "touched"
    id: Mapped[int] = mapped_column(_KEY, primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), comment="Row in runs")


class SourceRecord(Base):
    """Where published figures come from."""

    __tablename__ = "sources"
    id: Mapped[str] = mapped_column(Text, primary_key=True)
    author: Mapped[str] = mapped_column(Text)
    title: Mapped[str] = mapped_column(Text)
    date: Mapped[str] = mapped_column(Text, comment="When it was published, as far as stated")
    address: Mapped[str] = mapped_column(Text, comment="Address, or repository, path and commit")
    licence: Mapped[str] = mapped_column(Text)
    notes: Mapped[str] = mapped_column(Text, comment="What is known of the method")


class PublishedRecord(Base):
    """Figures that others published, one a row; never mixed with measured ones unlabelled."""

    __tablename__ = "published"
    __table_args__ = (one_of("outcome", PUBLISHED_OUTCOMES.values()), one_of("grade", GRADES))
    id: Mapped[int] = mapped_column(_KEY, primary_key=True)
    source_id: Mapped[str] = mapped_column(ForeignKey("sources.id"), index=True, comment="Row in sources")
    workload: Mapped[str] = mapped_column(Text, index=True, comment="family/name, as the source means it")
    model: Mapped[str] = mapped_column(Text)
    task: Mapped[str] = mapped_column(Text)
    precision: Mapped[str | None] = mapped_column(Text)
    batch_size: Mapped[int | None]
    input_shape: Mapped[str | None] = mapped_column(Text)
    device: Mapped[str | None] = mapped_column(Text)
    chip: Mapped[str] = mapped_column(Text, index=True)
    cpu_cores: Mapped[int | None]
    gpu_cores: Mapped[int | None]
    memory_gb: Mapped[float | None]
    os: Mapped[str | None] = mapped_column(Text)
    framework: Mapped[str | None] = mapped_column(Text)
    framework_version: Mapped[str | None] = mapped_column(Text)
    metric: Mapped[str] = mapped_column(Text, comment="What value counts")
    value: Mapped[float | None] = mapped_column(comment="The printed number; null unless one was printed")
    seconds: Mapped[float | None] = mapped_column(comment="The same for one iteration (s), where the metric tells it")
    under_s: Mapped[float | None] = mapped_column(
        comment="Where a time was printed as zero: what it lies under, for one iteration (s)"
    )
    outcome: Mapped[str] = mapped_column(Text)
    note: Mapped[str | None] = mapped_column(Text)
    ours: Mapped[str | None] = mapped_column(Text, index=True, comment="Our workload that it can be held beside")
    ours_version: Mapped[int | None] = mapped_column(comment="Version of our workload")
    ours_mode: Mapped[str | None] = mapped_column(Text, comment="Mode of our cases: eager or compile")
    grade: Mapped[str | None] = mapped_column(Text, comment="How alike they are: same, near or other")


class ChipRecord(Base):
    """Published facts of chips, one row a bin."""

    __tablename__ = "chips"
    __table_args__ = (UniqueConstraint("chip", "variant"),)
    id: Mapped[int] = mapped_column(_KEY, primary_key=True)
    chip: Mapped[str] = mapped_column(Text)
    variant: Mapped[str] = mapped_column(Text)
    cpu_super: Mapped[int | None]
    cpu_performance: Mapped[int | None]
    cpu_efficiency: Mapped[int | None]
    gpu_cores: Mapped[int | None]
    bandwidth_gb_s: Mapped[float | None] = mapped_column(comment="Memory bandwidth (GB/s)")
    fp32_tflops: Mapped[float | None] = mapped_column(comment="Published fp32 peak (TFLOP/s)")
    fp16_tflops: Mapped[float | None] = mapped_column(comment="Published fp16 peak (TFLOP/s)")
    tf32_tflops: Mapped[float | None] = mapped_column(comment="Published TF32 peak, without sparsity (TFLOP/s)")
    bf16_tflops: Mapped[float | None] = mapped_column(comment="Published bf16 peak, without sparsity (TFLOP/s)")
    low_precision_source: Mapped[str | None] = mapped_column(
        Text, comment="Where the peaks of tf32, fp16 and bf16 come from"
    )
    memory_options_gb: Mapped[str | None] = mapped_column(Text)
    source: Mapped[str] = mapped_column(Text)
    note: Mapped[str | None] = mapped_column(Text)


class AliasRecord(Base):
    """Spellings of chips: the one place where they meet."""

    __tablename__ = "aliases"
    spelling: Mapped[str] = mapped_column(Text, primary_key=True, comment="A name as a system or a source writes it")
    chip: Mapped[str] = mapped_column(Text, comment="The name that its rows are charted under")
    bin: Mapped[str | None] = mapped_column(Text, comment="The variant in chips, where the spelling tells it")
    family: Mapped[str] = mapped_column(Text, comment="Family of chips: Apple M1, NVIDIA, Intel ...")
    why: Mapped[str | None] = mapped_column(Text, comment="Why they are the same chip")


class MappingRecord(Base):
    """Which of our workloads a published one can be held beside, as far as that is known."""

    __tablename__ = "mapping"
    __table_args__ = (one_of("grade", GRADES),)
    id: Mapped[int] = mapped_column(_KEY, primary_key=True)
    source_id: Mapped[str] = mapped_column(ForeignKey("sources.id"), comment="Row in sources")
    published: Mapped[str] = mapped_column(Text, comment="Workload as the table published names it")
    task: Mapped[str] = mapped_column(Text)
    input_shape: Mapped[str | None] = mapped_column(Text, comment="Null stands for any shape")
    batch_size: Mapped[int | None] = mapped_column(comment="Null stands for any batch")
    precision: Mapped[str | None] = mapped_column(Text, comment="Null stands for any precision")
    device: Mapped[str | None] = mapped_column(Text, comment="Null stands for any device")
    workload: Mapped[str | None] = mapped_column(Text, comment="Our workload; null where there is no counterpart")
    version: Mapped[int | None]
    mode: Mapped[str | None] = mapped_column(Text)
    grade: Mapped[str] = mapped_column(Text, comment="same: comparable; near: with a difference; other: no counterpart")
    why: Mapped[str] = mapped_column(Text)


class LoadedRecord(Base):
    """Which edition of the published figures the database holds."""

    __tablename__ = "loaded"
    name: Mapped[str] = mapped_column(Text, primary_key=True)
    digest: Mapped[str] = mapped_column(Text)


class RankRecord(Base):
    """Which values of an ordered series bound the 95 % interval of its median; the first has number 1."""

    __tablename__ = "ranks"
    count: Mapped[int] = mapped_column(primary_key=True, autoincrement=False, comment="Values in the series")
    low: Mapped[int] = mapped_column(comment="Number of the lower end")
    high: Mapped[int] = mapped_column(comment="Number of the upper end")


class SummaryRecord(Base, fields_of=SummaryRow):
    """The cases that may be ranked, by bin of a chip, workload, torch and system; kept equal to summary_view."""

    __tablename__ = "summary"
    __table_args__ = (
        Index(None, "chip", "bin"),
        Index("ix_summary_case", "chip", "workload", "device", "precision", "mode", "torch"),
        Index(None, "workload", "device", "precision"),
    )
    id: Mapped[int] = mapped_column(_KEY, primary_key=True)


class CellRecord(Base, fields_of=CellRow):
    """All cases by configuration and outcome, as filters need them; kept equal to cells_view."""

    __tablename__ = "cells"
    __table_args__ = (Index(None, "chip", "workload"), Index(None, "workload", "device", "precision"))
    id: Mapped[int] = mapped_column(_KEY, primary_key=True)
