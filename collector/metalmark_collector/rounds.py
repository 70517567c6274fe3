"""One device in one round, served by as many workers as its cases wear out."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from metalmark_db.record import Case, Round
from metalmark_db.words import Mode, Outcome, Reason

from . import budget, memory, state
from .judge import judge, overruled
from .laps import ENDING, STARTING
from .messages import Beat, Done, Hello, Task
from .plan import Planned
from .plugins import KNOWN, file_of
from .process import START_S, Death, Worker
from .progress import Progress
from .slept import SleepWatch

_PATIENCE_SHARES = 4.0
_COMPILING_S = 180.0  # at least, for a compiler on a slow machine
_RESTART_S = 90.0  # torch was imported before: a device that does not answer in this time hangs
_GRACE_S = 6.0  # to start the program, end a worker and store its case within the limit
_FEWEST = 3  # iterations: first call, calibration, one sample


@dataclass
class DeviceRound:
    """The cases of one device in one round."""

    progress: Progress
    device: str
    number: int
    fallback: bool = False
    worker: Worker | None = None
    greeting: Hello | None = None
    chip: str | None = None  # what the rows are charted under
    unusable: tuple[Outcome, str] | None = None

    def __post_init__(self) -> None:
        machine = self.progress.machine
        self.chip = machine.chip if self.device in ("cpu", "mps") else machine.gpu_name

    def measure(self, cases: Sequence[Planned]) -> None:
        """Give every case an outcome and store it."""
        try:
            for case in cases:
                earlier = self.progress.failure(case)
                ended = earlier or self._measure(case)
                if not self.fallback:
                    self.progress.to_come.remove(case)
                if earlier is not None:
                    self.progress.tell(earlier)
                else:
                    self.progress.end(self._with_chip(case, ended))
                if ended.outcome is Outcome.UNSUPPORTED_OP and self.device == "mps" and not self.fallback:
                    self._once_more_on_the_cpu(case)
        finally:
            self._drop()

    def _once_more_on_the_cpu(self, case: Planned) -> None:
        """The case with what the backend lacks running on the CPU: a row of its own that is never ranked."""
        again = DeviceRound(self.progress, self.device, self.number, fallback=True)
        again.measure([msgspec.structs.replace(case, fallback=True)])

    def _measure(self, case: Planned) -> Case:
        if self._left_s() <= 0:
            return case.ended(Outcome.NOT_RUN, Reason.BUDGET, "the run's time was over before this case")
        if case.mode is Mode.COMPILE and self.progress.no_compiler is not None:
            return case.ended(Outcome.NOT_RUN, Reason.NO_COMPILER, self.progress.no_compiler)
        if case.is_own:
            self._drop()  # it gets a process of its own, before this one and after it
        if self.worker is None and self.unusable is None:
            self._start()
        if self.unusable is not None:
            reason = Reason.BUDGET if self.unusable[0] is Outcome.NOT_RUN else None
            return case.ended(self.unusable[0], reason, self.unusable[1])
        needed, limit = self._needed_bytes(case), self._limit_bytes()
        if limit is not None and needed > limit and not self.progress.force:
            detail = (
                f"it needs about {needed / 2**30:.1f} GiB, and {limit / 2**30:.1f} GiB may be used; --force tries it"
            )
            return case.ended(Outcome.NOT_RUN, Reason.MEMORY_ESTIMATE, detail)
        iteration, most_s, costs = self.progress.iteration_s(case), self._most_s(), self.progress.costs
        needed_s = _FEWEST * iteration + costs.compile_s(case) + costs.check_s(case)
        if needed_s > most_s:
            detail = (
                f"one iteration was estimated to take {iteration:.1f} s and the case {needed_s:.0f} s, "
                f"and it could have {most_s:.0f} s"
            )
            return case.ended(Outcome.NOT_RUN, Reason.BUDGET, detail)
        self.progress.watcher.measuring(case, self.number)
        return self._awake(case, min(self._share_s(case), most_s), iteration)

    def _awake(self, case: Planned, share_s: float, iteration: float) -> Case:
        """The case measured while the machine was awake: again, once, if it slept meanwhile."""
        watch = SleepWatch()
        ended = self._ask(case, share_s, iteration)
        if not watch.slept:
            return ended
        if self.worker is None and self.unusable is None:
            self._start()
        again = self._ask(case, share_s, iteration) if self.worker is not None else ended
        return msgspec.structs.replace(again, flags=(*again.flags, "slept"))

    def _start(self) -> None:
        first = self.greeting is None
        self.progress.watcher.starting(self.device)
        with self.progress.spending(STARTING):
            self.worker = self.progress.start_worker(
                self.device, fallback=self.fallback, variables=self.progress.variables
            )
            greeting = self.worker.greet(min(START_S if first else _RESTART_S, self._left_s()))
        if isinstance(greeting, Death):
            self.worker = None
            if greeting.timed_out and self._left_s() <= 0:
                self.unusable = (Outcome.NOT_RUN, "its worker was still starting when the run's time was over")
                return
            outcome, detail = judge(greeting)
            when = "did not start" if first else "does not answer since the case before"
            self.unusable = (outcome, f"The worker for {self.device} {when}. {detail}")
            return
        self.greeting, self.chip = greeting, greeting.chip_name or self.chip
        if greeting.unusable is not None:
            self.unusable = (Outcome.NO_BACKEND, greeting.unusable)
            return
        if greeting.flops_per_s:
            self.progress.rates[self.device] = greeting.flops_per_s
        self.progress.greeted(greeting)

    def _ask(self, case: Planned, share_s: float, iteration: float) -> Case:
        assert self.worker is not None  # noqa: S101 - _measure started it
        progress, left_s, worker = self.progress, self._left_s(), self.worker
        compile_s = progress.costs.compile_s(case)
        apart_s = progress.costs.check_s(case) + compile_s
        task = self._task(case, min(budget.measuring_s(share_s - apart_s), left_s), self._grace_s(case, share_s))
        patience_s = progress.patience_s + _PATIENCE_SHARES * share_s + 2 * iteration + task.sustain_s
        compiling = case.mode is Mode.COMPILE
        patience_s += max(_COMPILING_S, _PATIENCE_SHARES * compile_s) if compiling else 0.0

        def beat(message: Beat) -> None:
            nonlocal compiling
            compiling = False
            progress.watcher.beat(case, message.samples)

        answer = worker.ask(task, min(patience_s, left_s), beat)
        if isinstance(answer, Done):
            return self._answered(case, answer, worker.printed)
        self.worker = None
        if answer.timed_out and left_s < patience_s:
            return case.ended(Outcome.NOT_RUN, Reason.BUDGET, "it did not end before the run's time was over")
        if answer.timed_out and compiling:
            detail = f"it was still being compiled after {patience_s:.0f} s"
            return case.ended(Outcome.NOT_RUN, Reason.BUDGET, detail)
        outcome, detail = judge(answer)
        return case.ended(outcome, detail=detail)

    def _task(self, case: Planned, share_s: float, grace_s: float) -> Task:
        progress, plan = self.progress, self.progress.plan
        sustained = self.number == plan.rounds - 1 and case in plan.sustained
        earlier = progress.cases.get(case.key)
        enough = self._left_s() > 2 * share_s + plan.sustain_s  # else the samples would go with the minute
        return Task(
            workload=case.workload,
            precision=case.precision,
            seed=plan.seed,
            round_number=self.number,
            share_s=share_s,
            grace_s=grace_s,
            mode=case.mode,
            size=self.progress.size,
            references=progress.references,
            brief=earlier is not None and earlier.truth is not None,
            reference_s=progress.costs.reference_most_s,
            reference_estimate_s=progress.costs.reference_s(case),
            sustain_s=plan.sustain_s if sustained and enough else 0.0,
            mark=secrets.token_hex(16),
            plugin=str(file) if (file := file_of(case.workload)) else None,
        )

    def _answered(self, case: Planned, done: Done, printed: str) -> Case:
        done, fallback_ops = overruled(done, printed)
        for part, seconds in done.spent_s.items():
            self.progress.spent_s[part] += seconds
        self.progress.costs.tried(case)
        if done.round is not None:
            self.progress.learn(case, done.round)
        if done.first_s is not None:
            self.progress.first_s[case.key] = done.first_s
        compiled = state.OF_A_COMPILER if case.mode is Mode.COMPILE else frozenset()
        # An error may have left the process different in ways that nobody compares.
        if set(done.changed) - compiled or done.outcome not in (Outcome.OK, Outcome.NOT_RUN) or case.is_own:
            self._drop()
        ended = case.ended(done.outcome, done.reason, done.detail)
        return msgspec.structs.replace(
            ended,
            rounds=(self._with_probe(done),) if done.round else (),
            flags=(*ended.flags, *done.flags),
            fallback_ops=fallback_ops,
            settings=self._with_priority(done.settings),
            signature=done.signature,
            truth=done.truth,
            sustained=done.sustained,
        )

    def _with_probe(self, done: Done) -> Round:
        assert done.round is not None  # noqa: S101 - asked before
        assert self.greeting is not None  # noqa: S101 - the worker that answered has said hello
        return msgspec.structs.replace(
            done.round,
            probe_enqueue_ns=self.greeting.probe_enqueue_ns,
            probe_synchronized_ns=self.greeting.probe_synchronized_ns,
        )

    def _with_priority(self, settings: dict[str, bool | str]) -> dict[str, bool | str]:
        got = self.greeting.user_initiated if self.greeting else None
        return settings if got is None or not settings else settings | {"qos.user_initiated": got}

    def _with_chip(self, case: Planned, ended: Case) -> Case:
        return msgspec.structs.replace(
            ended, device_chip=self.chip, needed_bytes=self._needed_bytes(case), limit_bytes=self._limit_bytes()
        )

    def _needed_bytes(self, case: Planned) -> int:
        entry = KNOWN[case.workload]
        return memory.needed_bytes(entry.facts, entry.kept_bytes_per_sample, entry.copies)

    def _limit_bytes(self) -> int | None:
        if self.device == "cpu":
            return self.progress.memory_bytes
        return self.greeting.limit_bytes if self.greeting else None

    def _most_s(self) -> float:
        """Seconds that the next case may take at the very most."""
        return min(self._left_s(), self.progress.costs.most_s)

    def _share_s(self, case: Planned) -> float:
        progress = self.progress
        need = progress.costs.need_s(case)
        after = list(progress.to_come)
        others = progress.costs.needs_s(after)
        if case in after:  # a second try with fallback is not
            after.remove(case)
            others -= need
        wishes = [budget.useful_s(progress.iteration_s(one)) for one in (case, *after)]
        return progress.budget.share_s(progress.now(), need, others, wishes)

    def _grace_s(self, case: Planned, share_s: float) -> float:
        progress = self.progress
        after = list(progress.to_come)
        if case in after:
            after.remove(case)  # its other rounds stay
        grace = progress.budget.grace_s(progress.now(), share_s, progress.costs.needs_s(after))
        return max(0.0, min(grace, self._most_s() - share_s))

    def _left_s(self) -> float:
        return self.progress.budget.left_s(self.progress.now()) - _GRACE_S

    def _drop(self) -> None:
        if self.worker is not None:
            with self.progress.spending(ENDING):
                self.worker.close()
            self.worker = None
