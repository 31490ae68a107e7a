"""Which processes a person may be advised to end."""

from __future__ import annotations

from necroscope.model.zombie_holder import HoldingProcess
from necroscope.remedies.actions.vital import vital_reason, vital_reasons
from necroscope.sources.host import Host

OF_SYSTEMD = ("systemd", "(sd-")  # how the names of its programs begin, also of a user's or a container's


def may_end(host: Host, process: HoldingProcess) -> bool:
    """Whether the node can do without it: it is neither the first process, systemd's own, nor vital."""
    if process.pid == 1 or process.comm.startswith(OF_SYSTEMD):
        return False
    if vital_reason((process.unit,), (process.comm,) if process.comm else ()):
        return False
    return not process.unit or not vital_reasons(host, (process.unit,))
