"""The views: the database's interface for people, the same on SQLite and PostgreSQL."""

import hashlib

import sqlalchemy as sa

from .aggregates import CELL_KEY, SUMMARY_KEY

# The peak that a row can be held against: agreed on by all bins that the chip may be, of the row's own precision.
# Published peaks of arithmetic speak of the GPU alone, and nobody says how much of a chip its guests get.
_PEAK = """CASE
        WHEN c.workload = 'copy-bandwidth' THEN p.bandwidth_gb_s
        WHEN c.device = 'cpu' THEN NULL
        WHEN c.precision = 'fp32' THEN p.fp32_tflops
        WHEN c.precision = 'tf32' THEN p.tf32_tflops
        WHEN c.precision IN ('fp16', 'amp_fp16') THEN p.fp16_tflops
        WHEN c.precision IN ('bf16', 'amp_bf16') THEN p.bf16_tflops
    END"""
_AGREED = f"""(
        SELECT CASE WHEN count(*) = count({_PEAK}) AND min({_PEAK}) = max({_PEAK}) THEN min({_PEAK}) END
        FROM chips p
        WHERE p.chip = coalesce(a.chip, c.device_chip)
            AND (a.bin IS NULL OR p.variant = a.bin)
            AND (c.workload <> 'copy-bandwidth' OR p.note IS NULL OR p.note NOT LIKE '% GB model has %')
            AND (
                p.chip NOT LIKE 'Apple %'
                OR (NOT coalesce(m.virtual, FALSE) AND (m.gpu_cores IS NULL OR p.gpu_cores = m.gpu_cores))
            )
    )"""  # noqa: S608 - texts of this module

_SHARE = f"""CASE
        WHEN c.workload = 'copy-bandwidth' THEN w.bytes_per_iteration / 1e9 ELSE w.flops_per_iteration / 1e12
    END / c.median_s / {_AGREED}"""
# Of a chip that no file names: its maker, as far as the name tells it.
_FAMILY = """CASE
        WHEN lower({0}) LIKE '%apple%' THEN 'Apple' WHEN lower({0}) LIKE '%nvidia%' THEN 'NVIDIA'
        WHEN lower({0}) LIKE '%intel%' THEN 'Intel' WHEN lower({0}) LIKE '%amd%' THEN 'AMD' ELSE 'Other'
    END"""

# Speed-up is over the CPU's fp32 eager time of the same workload version in the same run,
# whatever the row's own precision; null where that case is not ok.
RESULTS = f"""
CREATE VIEW results AS
SELECT
    c.run_id,
    r.started_at,
    r.effort,
    r.reporter,
    coalesce(m.machine_id, m.digest) AS configuration,
    coalesce(a.chip, c.device_chip) AS chip,
    coalesce(a.family, {_FAMILY.format("c.device_chip")}) AS chip_family,
    coalesce(a.bin, CASE WHEN c.device IN ('cpu', 'mps') THEN m.bin END) AS bin,
    m.chip AS machine_chip,
    m.cpu_cores,
    m.gpu_cores,
    m.memory_bytes,
    m.virtual,
    s.os_name,
    s.os_version,
    s.os_major AS os,
    s.torch_version,
    s.torch_minor AS torch,
    CASE WHEN o.low_power_mode THEN 'low power' ELSE o.power_source END AS power,
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
    c.outcome = 'ok' AND c.median_s IS NOT NULL AND NOT c.fallback
        AND CAST(c.flags AS TEXT) NOT LIKE '%"beyond_peak"%'
        AND (c.workload NOT LIKE 'matmul-%' AND c.workload <> 'copy-bandwidth' OR coalesce({_SHARE}, 0) <= 1.1)
        AND CAST(s.environment AS TEXT) = '{{}}'
        AND NOT (coalesce(m.virtual, FALSE) AND c.device = 'cpu')
        AND NOT coalesce(s.torch_debug, FALSE) AND NOT coalesce(s.rosetta, FALSE)
        AND NOT coalesce(o.low_power_mode, FALSE) AS ranked,
    c.median_s,
    c.low_s,
    c.high_s,
    c."interval",
    c.samples,
    w.items_per_iteration / c.median_s AS items_per_s,
    w.flops_per_iteration / c.median_s / 1e12 AS tflops,
    {_SHARE} AS peak_share,
    b.median_s AS cpu_s,
    b.median_s / c.median_s AS speedup,
    c.sustained_energy_j / c.sustained_iterations / json_array_length(c.sustained_block_ns) AS energy_j,
    c.sustained_energy_source AS energy_source,
    c.flags,
    c.signature_digest
FROM cases c
JOIN runs r ON r.id = c.run_id
JOIN machines m ON m.id = r.machine_id
JOIN software s ON s.id = r.software_id
JOIN conditions o ON o.id = r.conditions_before_id
JOIN workloads w ON w.id = c.workload AND w.version = c.version
LEFT JOIN aliases a ON a.spelling = c.device_chip
LEFT JOIN cases b
    ON b.run_id = c.run_id AND b.workload = c.workload AND b.version = c.version
    AND b.device = 'cpu' AND b.precision = 'fp32' AND b.mode = 'eager' AND NOT b.fallback
    AND b.outcome = 'ok' AND c.outcome = 'ok'
"""  # noqa: S608 - texts of this module

SPEEDUPS = """
CREATE VIEW speedups AS
SELECT
    chip, chip_family, bin, cpu_cores, gpu_cores, memory_bytes, workload, version, title, task, batch,
    device, precision, mode, torch, os, cpu_s, median_s, speedup, ranked, run_id, started_at
FROM results
WHERE device <> 'cpu' AND speedup IS NOT NULL
"""

COVERAGE = """
CREATE VIEW coverage AS
SELECT
    workload, version, device, precision, mode, fallback, chip_family, os, torch, outcome,
    CAST(sum(runs) AS BIGINT) AS runs,
    max(newest) AS newest
FROM cells
GROUP BY workload, version, device, precision, mode, fallback, chip_family, os, torch, outcome
"""

EVERYTHING = """
CREATE VIEW everything AS
SELECT
    'measured' AS provenance,
    'run ' || run_id AS source,
    chip, chip_family, bin, cpu_cores, gpu_cores,
    memory_bytes / 1073741824.0 AS memory_gb,
    os_name || ' ' || os_version AS os,
    'pytorch' AS framework,
    torch_version AS framework_version,
    workload, version,
    workload AS named,
    'same' AS grade,
    task, batch, device, precision, mode, outcome,
    median_s, low_s, high_s,
    CAST(NULL AS DOUBLE PRECISION) AS under_s,
    items_per_s, speedup, ranked
FROM results
UNION ALL
SELECT
    'published',
    p.source_id,
    coalesce(a.chip, p.chip), coalesce(a.family, 'Other'), a.bin, p.cpu_cores, p.gpu_cores,
    p.memory_gb,
    p.os,
    p.framework,
    p.framework_version,
    p.ours, p.ours_version,
    p.workload,
    p.grade,
    p.task, p.batch_size, p.device, p.precision, p.ours_mode, p.outcome,
    p.seconds, NULL, NULL,
    p.under_s,
    p.batch_size / p.seconds, CASE WHEN p.metric = 'speedup_vs_cpu' THEN p.value END, FALSE
FROM published p
LEFT JOIN aliases a ON a.spelling = p.chip
"""


def _aggregate(name: str, keys: tuple[str, ...], condition: str) -> str:
    """A view that defines a table of aggregates: medians over computers of the medians over each one's runs.

    Four levels: the runs of a computer in order, its median; the computers in order, their median.
    """
    key = ", ".join(keys)
    middle = "IN ((many + 1) / 2, (many + 2) / 2)"
    return f"""
CREATE VIEW {name} AS
WITH placed AS (
    SELECT {key}, coalesce(reporter, configuration) AS who,
        started_at, median_s, low_s, high_s, "interval", speedup,
        row_number() OVER (
            PARTITION BY {key}, coalesce(reporter, configuration)
            ORDER BY CASE WHEN median_s IS NULL THEN 1 ELSE 0 END, median_s
        ) AS place,
        count(median_s) OVER (PARTITION BY {key}, coalesce(reporter, configuration)) AS many,
        row_number() OVER (
            PARTITION BY {key}, coalesce(reporter, configuration)
            ORDER BY CASE WHEN speedup IS NULL THEN 1 ELSE 0 END, speedup
        ) AS gain_place,
        count(speedup) OVER (PARTITION BY {key}, coalesce(reporter, configuration)) AS gain_many
    FROM results
    WHERE {condition}
), computers AS (
    SELECT {key}, who, count(*) AS runs,
        avg(CASE WHEN place {middle} THEN median_s END) AS median_s,
        avg(CASE WHEN gain_place {middle.replace("many", "gain_many")} THEN speedup END) AS speedup,
        min(median_s) AS fastest, max(median_s) AS slowest,
        min(low_s) AS low_s, max(high_s) AS high_s, min("interval") AS "interval", max(started_at) AS newest
    FROM placed
    GROUP BY {key}, who
), ordered AS (
    SELECT {key}, runs, median_s, speedup, fastest, slowest, low_s, high_s, "interval", newest,
        row_number() OVER (
            PARTITION BY {key} ORDER BY CASE WHEN median_s IS NULL THEN 1 ELSE 0 END, median_s
        ) AS place,
        count(median_s) OVER (PARTITION BY {key}) AS many,
        row_number() OVER (
            PARTITION BY {key} ORDER BY CASE WHEN speedup IS NULL THEN 1 ELSE 0 END, speedup
        ) AS gain_place,
        count(speedup) OVER (PARTITION BY {key}) AS gain_many
    FROM computers
), grouped AS (
    SELECT {key}, count(*) AS machines, CAST(sum(runs) AS BIGINT) AS runs,
        avg(CASE WHEN place {middle} THEN median_s END) AS median_s,
        avg(CASE WHEN gain_place {middle.replace("many", "gain_many")} THEN speedup END) AS speedup,
        max(CASE WHEN place = ranks.low THEN median_s END) AS rank_low_s,
        max(CASE WHEN place = ranks.high THEN median_s END) AS rank_high_s,
        min(fastest) AS fastest, max(slowest) AS slowest,
        min(low_s) AS low_s, max(high_s) AS high_s, min("interval") AS "interval", max(newest) AS newest
    FROM ordered
    LEFT JOIN ranks ON ranks.count = many
    GROUP BY {key}
)
SELECT machines, runs, median_s,
    CASE WHEN runs = 1 THEN low_s WHEN rank_low_s IS NULL THEN fastest ELSE rank_low_s END AS low_s,
    CASE WHEN runs = 1 THEN high_s WHEN rank_low_s IS NULL THEN slowest ELSE rank_high_s END AS high_s,
    CASE
        WHEN runs = 1 THEN "interval"
        WHEN rank_low_s IS NOT NULL THEN 'machines'
        WHEN median_s IS NOT NULL THEN 'range'
    END AS "interval",
    speedup, newest, {key}
FROM grouped
"""  # noqa: S608 - names of our own columns


ALL = {
    "results": RESULTS,
    "speedups": SPEEDUPS,
    "coverage": COVERAGE,
    "everything": EVERYTHING,
    "summary_view": _aggregate("summary_view", SUMMARY_KEY, "ranked AND chip IS NOT NULL"),
    "cells_view": _aggregate("cells_view", CELL_KEY, "chip IS NOT NULL"),
}


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
        connection.exec_driver_sql(text.replace("%", "%%") if connection.dialect.name != "sqlite" else text)
