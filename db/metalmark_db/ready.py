"""Questions that people ask, as SQL that SQLite 3.40, the browser's SQLite and PostgreSQL all take.

They ask the tables and views that the published file has even where raw samples are left out: summary, cells, coverage,
machines, published. Medians over groups need no function of an engine: the tables hold them.
"""

from msgspec import Struct


class Query(Struct, frozen=True, kw_only=True):
    """A question with its SQL."""

    id: str
    question: str
    sql: str


QUERIES: tuple[Query, ...] = (
    Query(
        id="fastest-resnet50-training",
        question="Which chip is the fastest at training ResNet-50?",
        sql="""
SELECT chip, bin, device, torch, os, machines, 8 / median_s AS images_per_s
FROM summary
WHERE workload = 'resnet50-train-b8' AND precision = 'fp32' AND mode = 'eager'
ORDER BY median_s
LIMIT 20
""",
    ),
    Query(
        id="fails-on-m1",
        question="What fails on M1 with torch 2.13?",
        sql="""
SELECT workload, precision, mode, os, outcome, runs
FROM coverage
WHERE chip_family = 'Apple M1' AND device = 'mps' AND torch = '2.13' AND outcome NOT IN ('ok', 'not_run')
ORDER BY runs DESC, workload, precision, mode, os, outcome
""",
    ),
    Query(
        id="slower-with-2.14",
        question="Did torch 2.14 get slower?",
        sql="""
SELECT n.chip, n.bin, n.workload, n.device, n.precision, n.mode, n.os,
    o.median_s AS with_2_13_s, n.median_s AS with_2_14_s, n.median_s / o.median_s AS times_as_long
FROM summary n
JOIN summary o
    ON o.chip = n.chip AND coalesce(o.bin, '') = coalesce(n.bin, '') AND o.workload = n.workload
    AND o.version = n.version AND o.device = n.device AND o.precision = n.precision AND o.mode = n.mode
    AND coalesce(o.os, '') = coalesce(n.os, '') AND o.torch = '2.13'
WHERE n.torch = '2.14' AND n.low_s > o.high_s
ORDER BY n.median_s / o.median_s DESC
LIMIT 20
""",
    ),
    Query(
        id="gpu-or-cpu",
        question="How much faster is the GPU than the CPU of the same Mac?",
        sql="""
SELECT chip, bin, workload, torch, os, speedup, machines
FROM summary
WHERE device = 'mps' AND precision = 'fp32' AND mode = 'eager' AND speedup IS NOT NULL
ORDER BY speedup DESC, chip, bin, workload, torch, os
LIMIT 50
""",
    ),
    Query(
        id="slower-on-the-gpu",
        question="Where is the GPU slower than the CPU?",
        sql="""
SELECT workload, device, count(*) AS chips, min(speedup) AS least, max(speedup) AS most
FROM summary
WHERE device <> 'cpu' AND precision = 'fp32' AND mode = 'eager' AND speedup < 1
GROUP BY workload, device
ORDER BY chips DESC, workload
""",
    ),
    Query(
        id="half-precision",
        question="What does half precision bring on each chip?",
        sql="""
SELECT h.chip, h.bin, h.workload, h.precision, h.torch, h.os, f.median_s / h.median_s AS times_as_fast
FROM summary h
JOIN summary f
    ON f.chip = h.chip AND coalesce(f.bin, '') = coalesce(h.bin, '') AND f.workload = h.workload
    AND f.version = h.version AND f.device = h.device AND f.mode = h.mode
    AND coalesce(f.torch, '') = coalesce(h.torch, '') AND coalesce(f.os, '') = coalesce(h.os, '')
WHERE h.precision IN ('fp16', 'amp_fp16') AND f.precision = 'fp32' AND h.device <> 'cpu' AND h.workload LIKE 'resnet50%'
ORDER BY times_as_fast DESC
LIMIT 50
""",
    ),
    Query(
        id="coverage",
        question="What runs, and what does not, on each family of chips?",
        sql="""
SELECT chip_family, device, outcome, CAST(sum(runs) AS BIGINT) AS cases
FROM cells
GROUP BY chip_family, device, outcome
ORDER BY chip_family, device, cases DESC, outcome
""",
    ),
    Query(
        id="memory",
        question="How much memory have the Macs on which a workload ran out of it?",
        sql="""
SELECT workload, memory_bytes / 1073741824 AS memory_gib, CAST(sum(runs) AS BIGINT) AS cases
FROM cells
WHERE outcome = 'out_of_memory'
GROUP BY workload, memory_bytes
ORDER BY workload, memory_bytes
""",
    ),
    Query(
        id="published-beside-measured",
        question="What did others publish of the same work?",
        sql="""
SELECT p.ours AS workload, p.chip, p.device, p.precision, p.seconds, p.source_id
FROM published p
WHERE p.grade = 'same'
ORDER BY p.ours, p.seconds
""",
    ),
)
