"""Programs wrote lines to the kernel log that read like the kernel's own."""

from __future__ import annotations

from collections.abc import Iterator

from necroscope.findings.detector import Case, detector
from necroscope.model.advice import Advice
from necroscope.model.finding import Evidence, Finding, Severity
from necroscope.model.shell_command import necroscope_command
from necroscope.signals.kernel_log_events import line_evidence
from necroscope.sources.kernel_log import KERNEL_LOG

NOT_COUNTED = "programs write lines that read like the kernel's own: not counted without --trust-kmsg"
ADVICE = (
    Advice("find out who writes to /dev/kmsg: root can, and a privileged container"),
    Advice("if these lines are true, as in a lab", necroscope_command("doctor", options=["--trust-kmsg"])),
)


def userspace_lines_text(number: int) -> str:
    """Return how many such lines there are, in a sentence."""
    if number == 1:
        return "a line that a program wrote to the kernel log reads like the kernel's own: not counted"
    return f"{number} lines that programs wrote to the kernel log read like the kernel's own: not counted"


@detector("userspace-kernel-lines", needs=(KERNEL_LOG,), readings_needed=1)
def userspace_kernel_lines(case: Case) -> Iterator[Finding]:
    """Programs wrote lines to the kernel log that read like the kernel's own; they count as nothing.

    Whoever may open /dev/kmsg for writing can write "eth0 was reset" there: root, a privileged container, a
    test. The kernel marks such a line with a facility other than its own, whatever the program asks for. So
    it is no evidence: it makes no event, no other finding, no metric but their count
    (necroscope_kernel_log_userspace_lines_total), no node condition and no diagnosis.

    Fires once for all of them, on lines that a rule of ours knows (`necroscope list rules`): what else
    programs log, and marks (user-mark), are not meant. It does not say that anything is wrong with the
    node, nor who wrote the lines: the kernel does not record that.

    To do: find out who writes them. If they are true, as in a lab: `doctor --trust-kmsg` and
    `record --trust-kmsg`, or `trust_kmsg = true` in `[kernel_log]` of the configuration, treat them as the
    kernel's own.
    """
    lines = case.recent_userspace_lines(hours=case.limit("userspace-kernel-lines.hours"))
    if not lines:
        return
    newest = lines[-1]
    when = case.segment.anchor.iso(newest.time_ns) if case.segment.is_live else "recorded"
    yield Finding(
        id="userspace-kernel-lines",
        severity=Severity.INFO,
        summary=userspace_lines_text(len(lines)),
        evidence=(
            Evidence("lines", len(lines), "lines", "kernel log"),
            Evidence("last", when, "UTC", "kernel log"),
            line_evidence(newest),
        ),
        advice=ADVICE,
    )
