"""The closing summary: three facts in plain words, true to the numbers, and what is next."""

from typing import Any

import msgspec
import pytest

from metalmark_collector import notices
from metalmark_collector.notices import facts
from metalmark_collector.sitting import Sitting
from metalmark_db.record import Case, Conditions, Machine, Round, RunHead, Software, Sustained
from metalmark_db.words import Effort, Mode, Outcome, Precision, Reason

QUIET = Conditions(power_source="ac", low_power_mode=False, load_1m=0.5)
MAC = Machine(vendor="apple", chip="Apple M1", cpu_cores=8, virtual=False)


def case(workload: str, device: str, milliseconds: float | None = None, spread: float = 0.01, **changes: Any) -> Case:
    """A case whose ten samples lie within ``spread`` of its time, or one without samples."""
    blocks = tuple(int(milliseconds * 1e6 * (1 + spread * (n - 4.5) / 4.5)) for n in range(10)) if milliseconds else ()
    found = Case(
        workload=workload,
        version=1,
        device=device,
        precision=Precision.FP32,
        mode=Mode.EAGER,
        outcome=Outcome.OK,
        rounds=(Round(number=0, iterations=1, block_ns=blocks),) if blocks else (),
    )
    return msgspec.structs.replace(found, **changes)


def ended(*cases: Case, conditions: tuple[Conditions, ...] = (QUIET, QUIET, QUIET), finished: bool = True) -> Sitting:
    """A sitting on a quiet Mac that ended so."""
    head = RunHead(
        started_at="2026-11-30T12:00:00+00:00",
        effort=Effort.QUICK,
        seed=1,
        machine=MAC,
        software=Software(),
        conditions_before=conditions[0],
    )
    return Sitting(run_id=7, finished=finished, cases=cases, head=head, conditions=conditions)


FAST = (case("resnet50-infer-b8", "cpu", 120), case("resnet50-infer-b8", "mps", 10))
FASTER = (case("matmul-2048", "cpu", 30), case("matmul-2048", "mps", 10))
SLOW = (case("lenet5-train-b128", "cpu", 4), case("lenet5-train-b128", "mps", 10))
ALIKE = (case("copy-bandwidth", "cpu", 10, spread=0.2), case("copy-bandwidth", "mps", 9.8, spread=0.2))


def test_the_gpu_is_called_faster_slower_or_neither_as_the_intervals_say() -> None:
    (fact, *_) = facts(ended(*FAST, *FASTER, *SLOW, *ALIKE))
    assert fact == (
        "mps in fp32, beside the CPU: faster in 2 of 4 workloads, from 3.0 times (matmul-2048) to 12 times "
        "(resnet50-infer-b8); slower in lenet5-train-b128, where it took up to 2.5 times as long; "
        "not decided (intervals that overlap, or too few samples for one) in copy-bandwidth."
    )


def test_a_difference_within_the_intervals_is_not_called_faster() -> None:
    (fact, *_) = facts(ended(*ALIKE))
    assert (
        fact == "mps in fp32, beside the CPU: "
        "not decided (intervals that overlap, or too few samples for one) in copy-bandwidth."
    )


def test_half_precision_and_second_tries_are_no_part_of_the_comparison() -> None:
    half = case("matmul-2048", "mps", 1, precision=Precision.FP16)
    again = case("copy-bandwidth", "mps", 1, fallback=True)
    (fact, *_) = facts(ended(*FASTER, half, ALIKE[0], again))
    assert fact == "mps in fp32, beside the CPU: faster in 1 of 1 workloads, 3.0 times (matmul-2048)."


@pytest.mark.parametrize(
    ("outcome", "detail", "told", "advice"),
    [
        (Outcome.OUT_OF_MEMORY, "RuntimeError: MPS backend out of memory (MPS allocated: 9.00 GiB)",
         "ran out of memory", "smaller batch"),
        (Outcome.CRASH, "The worker process ended without a message (signal 11).", "crashed", "faulthandler"),
        (Outcome.TIMEOUT, "The worker process gave no answer in its time and was ended.", "did not answer", "hang"),
        (Outcome.WRONG_RESULT, None, "gave a wrong result", ""),
        (Outcome.ERROR, "ValueError: no", "failed", "last line"),
        (Outcome.UNSUPPORTED_OP, "The operator 'aten::foo' is not currently implemented for the MPS device.",
         "device lacks", "newer torch"),
    ],
)  # fmt: skip
def test_what_failed_is_told_with_the_advice_of_explain(
    outcome: Outcome, detail: str | None, told: str, advice: str
) -> None:
    failed = case("vgg16-train-b4", "mps", outcome=outcome, detail=detail)
    fact = facts(ended(*FAST, failed))[0]
    assert fact.startswith("vgg16-train-b4 on mps ")
    assert told in fact
    assert advice in fact


def test_cases_that_failed_alike_share_a_fact_and_the_worst_comes_first() -> None:
    crashed = [case(name, "mps", outcome=Outcome.CRASH) for name in ("a1", "b2", "c3", "d4", "e5")]
    wrong = case("matmul-2048", "mps", outcome=Outcome.WRONG_RESULT, precision=Precision.FP16)
    first, second, *_ = facts(ended(*crashed, wrong))
    assert first == "matmul-2048 on mps in fp16 gave a wrong result."
    assert second.startswith("a1 on mps, b2 on mps, c3 on mps and 2 more crashed.")


def test_conditions_that_spoil_numbers_are_named_with_what_to_do() -> None:
    battery = msgspec.structs.replace(QUIET, power_source="battery", load_1m=9)
    told = facts(ended(*FAST, conditions=(battery, battery, battery)))[1]
    assert told == (
        "Measured on battery, beside other programs, which can spoil numbers. Plug it in and leave the lid open."
    )


def test_power_unplugged_during_the_run_counts_and_the_run_s_own_load_does_not() -> None:
    after = msgspec.structs.replace(QUIET, power_source="battery", load_1m=9)
    told = facts(ended(*FAST, conditions=(QUIET, QUIET, after)))[1]
    assert "on battery" in told
    assert "other programs" not in told
    assert not any("Measured" in fact for fact in facts(ended(*FAST)))


def test_a_device_that_cannot_be_used_comes_first() -> None:
    lost = [case(n, "mps", outcome=Outcome.NO_BACKEND, detail="MPS is not\navailable") for n in ("a1", "b2")]
    first, *_ = facts(ended(FAST[0], *lost))
    assert first == "mps was not measured: MPS is not available. The CPU's rows are the CPU's alone."


@pytest.mark.parametrize("reason", [r for r in Reason if r not in (Reason.INTERRUPTED, Reason.UNSYNCHRONIZED)])
def test_what_was_left_out_is_told_with_a_way_to_get_it(reason: Reason) -> None:
    left_out = case("vgg16-train-b4", "cpu", outcome=Outcome.NOT_RUN, reason=reason)
    told = facts(ended(*FAST, left_out))[1]
    assert told.startswith("Not run ")
    assert "vgg16-train-b4 on cpu" in told


def test_sleep_and_two_speeds_are_told() -> None:
    rounds = tuple(Round(number=n, iterations=1, block_ns=(t * 1_000_000,) * 10) for n, t in enumerate((10, 10, 25)))
    two_speeds = case("matmul-2048", "cpu", rounds=rounds, flags=("slept",))
    told = facts(ended(two_speeds))
    assert "slept while matmul-2048 on cpu ran" in told[0]
    assert "clearly different speeds" in told[1]


def test_on_a_cpu_alone_the_facts_are_rate_and_spread() -> None:
    first, second = facts(ended(FAST[0], FASTER[0]))
    assert first == "The most arithmetic a second was done by matmul-2048 on cpu: 0.573 TFLOP/s."
    assert "±0.78 % in the middle of the table" in second


def test_there_are_never_more_than_three() -> None:
    failed = [case(f"w{n}", "mps", outcome=outcome) for n, outcome in enumerate((Outcome.CRASH, Outcome.ERROR))]
    battery = msgspec.structs.replace(QUIET, power_source="battery")
    assert len(facts(ended(*FAST, *failed, conditions=(battery, battery, battery)))) == 3


def test_a_run_without_any_figure_has_no_facts_and_still_says_what_is_next(
    capsys: pytest.CaptureFixture[str],
) -> None:
    interrupted = case("matmul-2048", "cpu", outcome=Outcome.NOT_RUN, reason=Reason.INTERRUPTED)
    notices.after(ended(interrupted, finished=False))
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == (
        "Interrupted: the 0 cases measured so far are stored as run 7. "
        "Go on with: metalmark run --resume --effort quick\n"
    )


def test_a_finished_run_says_what_is_next_after_its_facts(capsys: pytest.CaptureFixture[str]) -> None:
    notices.after(ended(*FAST))
    lines = capsys.readouterr().err.splitlines()
    assert [line[:2] for line in lines] == ["- ", "- ", "- ", "St"]
    assert "metalmark show 7" in lines[-1]


def test_hostile_details_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    notices.after(ended(case("matmul-2048", "mps", outcome=Outcome.NO_BACKEND, detail="\x1b]0;owned\x07[bold]x")))
    shown = capsys.readouterr().err
    assert "\x1b" not in shown
    assert "[bold]x" in shown


def test_a_machine_that_slows_down_in_a_minute_is_told() -> None:
    (burst,) = [one for one in FAST if one.device == "mps"]
    minute = Sustained(iterations=10, block_ns=(100_000_000,) * 5 + (130_000_000,) * 5)
    steady = Sustained(iterations=10, block_ns=(100_000_000,) * 10)
    told = facts(ended(FAST[0], msgspec.structs.replace(burst, sustained=minute)))
    assert any("took 1.30 times as long as in the short blocks" in fact for fact in told)
    assert not any(
        "a minute" in fact for fact in facts(ended(FAST[0], msgspec.structs.replace(burst, sustained=steady)))
    )


def test_what_is_faster_than_its_chip_can_be_comes_first() -> None:
    beyond = case("matmul-2048", "mps", 0.001, flags=("beyond_peak",))
    assert facts(ended(*FAST, beyond))[0].startswith(
        "matmul-2048 on mps came out faster than the chip's published peak"
    )
