"""A realistic fleet of any size: its runs are as ``metalmark run`` makes them, and the same for the same seed.

``runs`` gives them one after the other. As a script, it prints how long making them takes, and how big a case is beside
one that was really measured: at most 20 % bigger or smaller.
"""

import math
import random
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache

import msgspec

from _fleet_computers import LAST, Computer, computer
from _fleet_failures import WRONG, Ended, Try, ended, limit_bytes, needed_bytes
from _fleet_speed import recorded, seconds, signatures
from _fleet_state import conditions, moment, software, torch_release
from metalmark_collector.measure import MARGIN, PER_CALLS
from metalmark_collector.perform import PER_CALL_NS
from metalmark_collector.plan import Planned, make_plan
from metalmark_collector.plugins import KNOWN
from metalmark_db.plausible import Kind
from metalmark_db.record import Case, Conditions, Round, Run, RunHead, Software, Truth, Workload
from metalmark_db.series import case_flags
from metalmark_db.words import Effort, Outcome, Precision, Reason, Task

ROUNDS, SAMPLES = 3, 20
FIGURE = 0.2  # how far the size of a case may be from that of a real one
_BLOCK = 48  # runs that are drawn together, by as many people as it takes
_MOST_RUNS = 6  # of one computer
_RUN_SCATTER, _ROUND_SCATTER = 0.01, 0.007
_SCATTER = (0.01, 0.03)  # of the samples of a case
_LOW_POWER = 1.6  # times as long
_HEAVY = 1e11  # operations of an iteration that heat a computer up
_SLOW_KERNELS = 2.2  # times as long, where a process takes other kernels


@dataclass(frozen=True)
class Sitting:
    """A run before it is made: on which computer, when."""

    computer: Computer
    started_at: datetime


def runs(count: int, seed: int = 1, first: int = 0) -> Iterator[tuple[Run, tuple[Workload, ...]]]:
    """Runs ``first`` to ``first + count`` of the fleet of that seed, each with the facts of its workloads.

    A run is the same whatever the count, and none is kept.
    """
    return (run(seed, number) for number in range(first, first + count))


def run(seed: int, number: int) -> tuple[Run, tuple[Workload, ...]]:
    """Run ``number`` of the fleet of that seed, with the facts of its workloads."""
    sitting = sittings(seed, number // _BLOCK)[number % _BLOCK]
    chance = random.Random(f"{seed}/run/{number}")  # noqa: S311 - a made-up fleet, no secret
    maker = _Maker(sitting, chance)
    head = RunHead(
        started_at=sitting.started_at.isoformat(timespec="seconds"),
        effort=Effort.STANDARD,
        seed=chance.randrange(2**31),
        machine=sitting.computer.machine,
        software=maker.software,
        conditions_before=maker.state,
        reporter=sitting.computer.reporter,
    )
    planned = plan(sitting.computer.gpu)
    interrupted = chance.random() < 0.015  # noqa: PLR2004 - somebody pressed Ctrl-C in the first round
    kept = chance.randrange(5, len(planned)) if interrupted else len(planned)
    cases = [case for one in planned[:kept] for case in maker.cases(one, 1 if interrupted else ROUNDS)]
    cases += [one.ended(Outcome.NOT_RUN, Reason.INTERRUPTED) for one in planned[kept:]]
    after = None if interrupted else msgspec.structs.replace(maker.state, load_1m=round(chance.uniform(1, 5), 2))
    done = Run(head=head, conditions_after=after, finished=not interrupted, cases=tuple(cases))
    return done, _facts(sitting.computer.gpu)


@lru_cache(maxsize=2)
def sittings(seed: int, block: int) -> tuple[Sitting, ...]:
    """The sittings of a block: those of one computer days or months apart, and those of several mixed."""
    chance = random.Random(f"{seed}/block/{block}")  # noqa: S311
    found: list[Sitting] = []
    owners = 0
    while len(found) < _BLOCK:
        found += _of_one(computer(seed, block * _BLOCK + owners), chance)
        owners += 1
    del found[_BLOCK:]
    chance.shuffle(found)
    return tuple(found)


def _of_one(owner: Computer, chance: random.Random) -> Iterable[Sitting]:
    """The sittings of one computer, whose owner comes back now and then."""
    day = owner.since + timedelta(days=int((LAST - owner.since).days * chance.random() ** 0.65))
    when = datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(seconds=chance.randrange(86_400))
    for _ in range(chance.randint(1, _MOST_RUNS)):
        if when.date() > LAST:
            return
        yield Sitting(owner, when)
        soon = chance.random() < 0.35  # noqa: PLR2004 - to see whether the figures come again
        when += timedelta(hours=chance.uniform(13, 72) if soon else chance.uniform(200, 2200))
        when = when.replace(microsecond=0)


@cache
def plan(gpu: str | None) -> tuple[Planned, ...]:
    """The cases of a standard run with that kind of GPU, as the engine plans them."""
    devices = ("cpu", gpu) if gpu else ("cpu",)
    return tuple(case for cases in make_plan(Effort.STANDARD, devices, seed=0).cases.values() for case in cases)


@cache
def _facts(gpu: str | None) -> tuple[Workload, ...]:
    return tuple(KNOWN[name].facts for name in sorted({case.workload for case in plan(gpu)}))


@cache
def _settings(precision: Precision, *, mac: bool) -> dict[str, bool | str]:
    """The switches of torch as the engine sets them."""
    tf32 = precision is Precision.TF32
    switches: dict[str, bool | str] = {
        "float32_matmul_precision": "high" if tf32 else "highest",
        "cuda.matmul.allow_tf32": tf32,
        "cuda.matmul.allow_fp16_reduced_precision_reduction": True,
        "cuda.matmul.allow_bf16_reduced_precision_reduction": True,
        "cudnn.allow_tf32": tf32,
        "cudnn.benchmark": False,
        "cudnn.deterministic": False,
        "deterministic_algorithms": False,
        "default_dtype": "float32",
    }
    return switches | {"qos.user_initiated": True} if mac else switches


class _Maker:
    """Makes the cases of one run."""

    def __init__(self, sitting: Sitting, chance: random.Random) -> None:
        self.computer, self.chance = sitting.computer, chance
        self.machine = sitting.computer.machine
        self.software: Software = software(self.computer, sitting.started_at.date(), chance)
        self.state: Conditions = conditions(self.computer, chance)
        self.release = torch_release(self.software.torch_version)
        self.is_mac = self.software.os_name == "macOS"
        self.macos = int((self.software.os_version or "0").split(".")[0]) if self.is_mac else None
        self.pace = (1 + _RUN_SCATTER * chance.gauss(0, 1)) * (_LOW_POWER if self.state.low_power_mode else 1.0)
        self.hot = chance.random() < (0.02 if self.computer.fan else 0.2)
        self.probes = [
            (chance.randrange(90_000, 300_000), chance.randrange(2_600_000, 9_000_000)) for _ in range(ROUNDS)
        ]

    def cases(self, planned: Planned, rounds: int) -> Iterator[Case]:
        """The case, and once more with fallback where it was tried so."""
        expected = seconds(planned, self.computer, self.release) * self.pace
        limit = limit_bytes(planned.device, self.computer, self.state.memory_available_bytes or 0)
        one = Try(
            case=planned,
            computer=self.computer,
            release=self.release,
            macos=self.macos,
            limit_bytes=limit,
            seconds=expected,
        )
        for case, end in ended(one, self.chance):
            yield self._case(case, end, expected * end.slows, limit, rounds)

    def _case(self, planned: Planned, end: Ended, expected: float, limit: int, rounds: int) -> Case:
        measured = end.outcome in (Outcome.OK, Outcome.WRONG_RESULT)
        answered = end.outcome not in (Outcome.NOT_RUN, Outcome.CRASH, Outcome.TIMEOUT)
        taken = self._rounds(planned, expected, rounds) if measured else ()
        return Case(
            workload=planned.workload,
            version=planned.facts.version,
            device=planned.device,
            precision=planned.precision,
            mode=planned.mode,
            fallback=planned.fallback,
            outcome=end.outcome,
            reason=end.reason,
            detail=end.detail,
            device_chip=self.machine.gpu_name if planned.device == "cuda" else self.machine.chip,
            fallback_ops=end.fallback_ops,
            flags=case_flags(taken) if end.outcome is Outcome.OK else (),
            needed_bytes=needed_bytes(planned.workload),
            limit_bytes=limit,
            settings=_settings(planned.precision, mac=self.is_mac) if measured else {},
            signature=signatures()[planned.workload] if measured else None,
            truth=_truth(planned, self.chance, wrong=end.outcome is Outcome.WRONG_RESULT) if measured else None,
            conditions=moment(self.state, self.chance) if answered else None,
            rounds=taken,
        )

    def _rounds(self, planned: Planned, expected: float, rounds: int) -> tuple[Round, ...]:
        heavy = (planned.facts.flops_per_iteration or 0.0) > _HEAVY and planned.device != "cpu"
        heat = self.chance.uniform(0.15, 0.4) / SAMPLES if self.hot and heavy else 0.0
        scatter = self.chance.uniform(*_SCATTER)
        return tuple(self._round(planned, expected, number, scatter, heat) for number in range(rounds))

    def _round(self, planned: Planned, expected: float, number: int, scatter: float, heat: float) -> Round:
        chance, gauss, device = self.chance, self.chance.gauss, planned.device
        once_ns = expected * 1e9 * (1 + _ROUND_SCATTER * gauss(0, 1)) * self._other_kernels(planned)
        iterations = math.ceil(chance.uniform(20e6, 45e6) * MARGIN / 100 / once_ns)
        block_ns = once_ns * iterations
        block = [round(block_ns * (1 + scatter * gauss(0, 1) + heat * place)) for place in range(SAMPLES)]
        if chance.random() < 0.1:  # noqa: PLR2004 - the system did something else
            place = chance.randrange(SAMPLES)
            block[place] = round(block[place] * chance.uniform(1.1, 1.6))
        call_ns = once_ns + (0 if device == "cpu" else 40_000)
        calls = [round(call_ns * (1 + 2 * scatter * abs(gauss(0, 1)))) for _ in range(PER_CALLS)]
        on_gpu = device != "cpu"
        peak = int(needed_bytes(planned.workload) * chance.uniform(0.7, 0.9)) // 512 * 512 + 2**20
        probe = self.probes[number] if on_gpu else (None, None)
        return Round(
            number=number,
            iterations=iterations,
            block_ns=tuple(block),
            first_call_ns=round(once_ns * chance.uniform(1.2, 30)),
            warmup_iterations=7 * iterations,
            enqueue_ns=round(block_ns * (chance.uniform(0.05, 0.95) if on_gpu else 1)),
            residual_ns=chance.randrange(30_000, 180_000),
            per_call_ns=tuple(calls) if once_ns < PER_CALL_NS else None,
            peak_memory_bytes=peak if on_gpu else None,
            peak_memory_source=("counter" if device == "cuda" else "sampled") if on_gpu else None,
            process_peak_bytes=chance.randrange(700, 5_000) * 2**20 + chance.randrange(256) * 4096,
            probe_enqueue_ns=probe[0],
            probe_synchronized_ns=probe[1],
        )

    def _other_kernels(self, planned: Planned) -> float:
        """What a process that has chosen other kernels takes more: seen on one generation with one macOS."""
        here = self.computer.generation == "M5" and self.software.os_version == "26.4.1" and planned.device == "mps"
        if not here or KNOWN[planned.workload].bound is not Kind.CONVOLUTIONS:
            return 1.0
        return _SLOW_KERNELS if self.chance.random() < 0.4 else 1.0  # noqa: PLR2004


def _truth(planned: Planned, chance: random.Random, *, wrong: bool) -> Truth:
    """What a comparison showed: errors a good way under what is allowed, or far above."""
    entry, train = KNOWN[planned.workload], planned.facts.task is Task.TRAIN
    allowed = entry.tolerances[planned.precision].output
    norm = allowed * (WRONG if wrong else chance.uniform(0.003, 0.4))
    loss = chance.uniform(0.6, 7)
    is_model = planned.facts.task is not Task.OPERATION
    return Truth(
        reference="cpu fp64" if planned.device == "cpu" else "cpu fp32",
        samples=min(2, planned.facts.batch) if planned.device == "cpu" else planned.facts.batch,
        error_norm=norm,
        error_max=norm * chance.uniform(2, 30),
        error_max_rms=norm * chance.uniform(2, 9),
        tolerance=allowed,
        input_dependence=chance.uniform(0.08, 0.4) if is_model else None,
        loss_error=norm * chance.random() / 50 if train else None,
        gradient_error=norm * chance.random() / 9 if train else None,
        losses=tuple(loss * chance.uniform(0.98, 1) * 0.83**step for step in range(5)) if train else None,
    )


def bytes_per_case(cases: Iterable[Case]) -> float:
    """What a case with 3 rounds of 20 blocks takes in JSON, as these cases are: the mean of those that ended well."""
    found = [_scaled_bytes(case) for case in cases if case.outcome is Outcome.OK]
    return sum(found) / len(found)


def _scaled_bytes(case: Case) -> float:
    """The case without its rounds, and its mean round three times with its mean block twenty times."""
    encode = msgspec.json.encode
    bare = len(encode(msgspec.structs.replace(case, rounds=()))) + len(',"rounds":[]')
    whole = 0.0
    for one in case.rounds:
        rest = len(encode(msgspec.structs.replace(one, block_ns=())))
        whole += rest + SAMPLES * (len(encode(one.block_ns)) - 1) / len(one.block_ns)
    return bare + ROUNDS * (whole / len(case.rounds) + 1)


def main(count: int = 100) -> int:
    """Prints both figures, and gives 1 where the size is missed."""
    began = time.perf_counter()
    made = [case for one, _ in runs(count) for case in one.cases]
    took = time.perf_counter() - began
    ours, real = bytes_per_case(made), bytes_per_case(recorded("h200-core").run.cases)
    print(f"{count} runs with {len(made):,} cases in {took:.1f} s: {took / count * 1e3:.0f} ms a run")
    print(f"a case: {ours:,.0f} bytes, a real one {real:,.0f}: ratio {ours / real:.2f}; figure to reach: 1 +- {FIGURE}")
    return int(abs(ours / real - 1) > FIGURE)


if __name__ == "__main__":
    sys.exit(main())
