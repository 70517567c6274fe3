"""The views: the database's interface for people, the same on SQLite and PostgreSQL."""

import hashlib

import sqlalchemy as sa

# Speed-up is over the CPU's fp32 eager time of the same workload version in the same run,
# whatever the row's own precision; null where that case is not ok.
RESULTS = """
CREATE VIEW results AS
SELECT
    r.id AS run_id,
    r.started_at,
    r.effort,
    m.chip,
    m.gpu_cores,
    m.cpu_cores,
    m.memory_bytes,
    m.virtual,
    s.os_name,
    s.os_version,
    s.torch_version,
    c.workload,
    c.version,
    w.family,
    w.variant,
    w.title,
    w.task,
    w.batch,
    w.item,
    c.device,
    c.device_chip,
    c.precision,
    c.mode,
    c.fallback,
    c.fallback_ops,
    c.outcome,
    c.reason,
    c.median_s,
    c.low_s,
    c.high_s,
    c."interval",
    c.samples,
    w.items_per_iteration / c.median_s AS items_per_s,
    w.flops_per_iteration / c.median_s / 1e12 AS tflops,
    b.median_s / c.median_s AS speedup,
    c.flags,
    c.signature_digest
FROM cases c
JOIN runs r ON r.id = c.run_id
JOIN machines m ON m.id = r.machine_id
JOIN software s ON s.id = r.software_id
JOIN workloads w ON w.id = c.workload AND w.version = c.version
LEFT JOIN cases b
    ON b.run_id = c.run_id AND b.workload = c.workload AND b.version = c.version
    AND b.device = 'cpu' AND b.precision = 'fp32' AND b.mode = 'eager'
    AND b.outcome = 'ok' AND c.outcome = 'ok'
"""

ALL = {"results": RESULTS}


def edition() -> str:
    """Which wording of the views this Metalmark has."""
    return hashlib.sha256("".join(ALL.values()).encode()).hexdigest()


def drop(connection: sa.Connection) -> None:
    """Remove every view, so that the tables below can change."""
    for name in reversed(ALL):
        connection.exec_driver_sql(f"DROP VIEW IF EXISTS {name}")


def create(connection: sa.Connection) -> None:
    """Create every view, in the order in which they build on each other."""
    for text in ALL.values():
        connection.exec_driver_sql(text)
