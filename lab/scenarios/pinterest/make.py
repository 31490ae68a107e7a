"""The whole incident, from the quiet node to the job that succeeds again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from lab.faults.crash_loops import leaked
from lab.faults.kubelets import measure_walks
from lab.faults.nic_stalls import transmit_queues
from lab.faults.queue_watchers import read_core
from lab.running.stage import Stage
from lab.scenarios.pinterest.answers import Answers
from lab.scenarios.pinterest.node import Node, broken_node, off_core
from lab.scenarios.pinterest.training import AFTER, BEFORE, DURING, PART, Training, training
from lab.training.job import Job
from necroscope.store.store import Store

QUIET_SECONDS = 14.0  # and 10 more or 20, until the first long round of kubelet; 15 are asked for
BUSY_RATIO = 0.5  # as in expect.toml
STALL_SECONDS = 150.0  # in which it must come
JOB_SECONDS = 60.0  # in which it must fail, after that
WRITTEN_SECONDS = 60.0
AFTER_STALL_SECONDS = 1.5
IN_KERNEL_SECONDS = 1.2  # before the network is measured
LOOK_AGAIN_SECONDS = 0.1

OTHER_KERNEL = "real-starvation"  # the part that needs one
NO_KERNEL = (
    "whether a real network card starves was not measured: since Linux 6.5 such work does not stop one. Give"
    " an older kernel with --kernel FILE (up to 5.7 reading statistics is enough, up to 6.4 long kernel work)"
)
STAND_INS = (
    "the driver's line: a watcher wrote it, when and only when the core had been in the kernel for 5 s (95 %"
    " of each second); its numbers are fixed, and nobody looked at the queue",
    "kubelet: a process of that name. It reads what cAdvisor reads, which takes no time on newer kernels, and"
    ' there goes on to write "2" to drop_caches, thousands of times a round, as no kubelet does: each write'
    " walks all memory cgroups",
    "the agent: a script that leaks on purpose, 700 memory cgroups a start instead of 1; it is started again"
    " after 0.4 s instead of 10 s, and has no network (PrivateNetwork=yes)",
    "the job's network: a veth pair whose kernel threads are bound to the core and give way to all other work"
    " (SCHED_IDLE), in user space too; it has nothing to do with the network card of the line",
    "the node: a container on this machine and its kernel, with a systemd of its own, instead of a host",
)


def play(stage: Stage) -> None:
    """Break it, find out why, mend it, and prove that."""
    _play_other_kernel(stage)
    for what in STAND_INS:
        stage.stand_in(what)
    queue = transmit_queues()[0]
    stage.tell("measuring what a walk over memory cgroups costs on this machine")
    cost = measure_walks()  # before anything is started, see there
    core = queue.cores[0]
    stage.tell("a node boots, and is recorded; Ray starts")
    with (
        off_core(core),
        training(stage, core) as job,
        # kubelet's next round but one is then soon after the end of the first job.
        broken_node(stage, queue, cost, job.wait_until_ready) as node,
    ):
        try:
            _be_quiet(stage, node, job)
            _break(stage, node, job)
            answers = Answers(stage, node.prefix)
            _ask(stage, node, answers)
            _mend(stage, node, job, answers)
        finally:
            _keep_what_happened(stage, node)
    if stage.kernel is None and OTHER_KERNEL not in stage.without:
        stage.leave_out(OTHER_KERNEL, NO_KERNEL)


def _play_other_kernel(stage: Stage) -> None:
    if stage.kernel is None or OTHER_KERNEL in stage.without:
        return
    from lab.scenarios.pinterest.guest import play_in_guest

    play_in_guest(stage)


def _be_quiet(stage: Stage, node: Node, job: Training) -> None:
    """The node is well, and the job succeeds."""
    begin = read_core(node.core)
    with _act(stage, "quiet", "the node is quiet, and a first training job runs"):
        job.run(BEFORE)
        time.sleep(max(0.0, node.recorded_since + QUIET_SECONDS - time.monotonic()))
    busy_ratio = begin.busy_ratio(read_core(node.core))
    stage.results["quiet"] = {"busy_ratio": round(busy_ratio, 3)}
    if busy_ratio > BUSY_RATIO:
        stage.tell(f"core {node.core} was {busy_ratio:.0%} busy, not quiet: others work on this machine")


def _break(stage: Stage, node: Node, job: Training) -> None:
    """The agent gives up, again and again, until the line was due and the job has failed."""
    with job.running() as running:
        rounds = len(node.kubelet.rounds())
        _wait_until(node, lambda: len(node.kubelet.rounds()) > rounds, STALL_SECONDS, "a round of kubelet")
        with _act(stage, "leak", f"{node.agent.unit} cannot reach its control plane, fails, and leaks"):
            stage.results["zombies"] = {"before_leak": leaked()}
            node.agent.give_up()
            _measure_starved(node, job)
            _wait_for_effects(stage, node, job, running)
        with _act(stage, "written", "some seconds more, until the recorder has written down what it saw"):
            at_ns = node.watcher.stalls[0].stall.time_ns + round(AFTER_STALL_SECONDS * 1e9)
            _wait_until(
                node, lambda: _is_written(stage, at_ns), WRITTEN_SECONDS, "the recording of the stall"
            )


def _measure_starved(node: Node, job: Training) -> None:
    """The network while the core is in the kernel; in the next round if this one ends too soon."""
    run = node.watcher.run
    while True:
        _wait_until(node, lambda: run.seconds() > IN_KERNEL_SECONDS, STALL_SECONDS, "kubelet in the kernel")
        before = run.stretch
        job.measure_network(DURING)
        after = run.stretch
        if before and after and before.begin == after.begin:
            return


def _wait_for_effects(stage: Stage, node: Node, job: Training, running: Job | None) -> None:
    """The driver's line and the job's failure, each told as it comes: neither brings about the other."""

    def is_due() -> bool:
        job.keep_end(running)
        return bool(node.watcher.stalls)

    _wait_until(node, is_due, STALL_SECONDS, "a core in the kernel for 5 s")
    seen = node.watcher.stalls[0]
    stage.tell(
        f"core {node.core} was in the kernel for {seen.stretch.seconds:.1f} s: the driver's line is due"
    )
    stage.tell(f"written in its place: {seen.stall.line}")
    job.keep_end(running, JOB_SECONDS)


def _ask(stage: Stage, node: Node, answers: Answers) -> None:
    with _act(stage, "diagnose", "asking why"):
        stage.results["diagnosis"] = diagnosis = answers.diagnose(node.core)
        stage.results["zombies"]["at_stall"] = diagnosis["zombies"]
        stage.tell(diagnosis["verdict"])
        stage.results["culprit"] = answers.culprit(diagnosis["event"], node.core)


def _mend(stage: Stage, node: Node, job: Training, answers: Answers) -> None:
    with _act(stage, "plan", "planning a fix"):
        stage.results["plan"] = answers.plan()
    with _act(stage, "fix", "carrying out the plan"):
        stage.results["fix_begin_ns"] = time.monotonic_ns()
        stage.results["fix"] = fix = answers.apply()
        zombies = stage.results["zombies"]
        zombies["after_fix"] = leaked()
        zombies["left"] = max(0, zombies["after_fix"] - zombies["before_leak"])
    with _act(stage, "verify", "15 s more, to see whether it helped; meanwhile the job runs again"):
        with ThreadPoolExecutor(max_workers=1) as pool:
            drawn = pool.submit(answers.draw, stage.results["diagnosis"]["event"], node.core)
            job.run(AFTER)
            stage.results["drawn_bytes"] = drawn.result()
        stage.results["verify"] = answers.verify(fix["id"])
        stage.tell(stage.results["verify"]["summary"])
    with _act(stage, "report", "writing the report"):
        stage.results["report_bytes"] = answers.report()


def _keep_what_happened(stage: Stage, node: Node) -> None:
    """Also of a run that ended early: as far as it came."""
    stage.results |= node.results(stage.results.get("fix_begin_ns"))
    zombies, most = stage.results.get("zombies", {}), stage.results["rounds"].get("most_zombies")
    if zombies and most is not None:
        zombies |= {"most": most, "leaked": most - zombies["before_leak"]}
    if not node.watcher.stalls:
        return
    timeline = {"line": node.since_round(node.watcher.stalls[0].stall.time_ns)}
    failed = stage.results.get(PART, {}).get(DURING, {})
    if failed.get("failed_step_seconds") is not None:
        timeline["job_failed"] = node.since_round(round(failed["end"] * 1e9))
        begin_ns = round((failed["end"] - failed["failed_step_seconds"]) * 1e9)
        timeline["failed_step_began"] = node.since_round(begin_ns)
    stage.results["timeline"] = timeline  # seconds after kubelet's round began


def _is_written(stage: Stage, at_ns: int) -> bool:
    """Whether the samples of a moment (CLOCK_MONOTONIC) can be read."""
    return any(
        not one.is_open and one.has_profile and one.begin_ns <= at_ns + one.offset_ns <= one.end_ns
        for one in Store(stage.store).segments()
    )


def _wait_until(node: Node, condition: Callable[[], object], seconds: float, what: str) -> None:
    """Wait for something that must come, without much work meanwhile: there are few cores."""
    deadline = time.monotonic() + seconds
    while not condition():
        node.check()
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {seconds:g} s")
        time.sleep(LOOK_AGAIN_SECONDS)


@contextmanager
def _act(stage: Stage, name: str, what: str) -> Iterator[None]:
    stage.tell(what)
    began = time.monotonic()
    yield
    stage.results.setdefault("act_seconds", {})[name] = round(time.monotonic() - began, 1)
