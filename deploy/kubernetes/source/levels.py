"""The levels of privilege: what a recorder in a pod may do, and as whom."""

from __future__ import annotations

from dataclasses import dataclass

from deploy.kubernetes.source.markers import Value
from deploy.kubernetes.source.values import VALUES

ROOT = 0
USER = VALUES["user"]  # its own: what runs as nobody (65534) is anybody's


@dataclass(frozen=True, slots=True)
class Level:
    """How the recorder runs. Kubernetes gives capabilities to root only."""

    name: str
    says: str
    capabilities: tuple[str, ...] = ()  # that the recorder has
    stays_root: bool = False
    has_host_pids: bool = True
    has_samples: bool = True
    has_tracefs: bool = False

    @property
    def gives_root_up(self) -> bool:
        """Starts as root, and goes on as USER with its capabilities: what is root's is out of its reach."""
        return bool(self.capabilities) and not self.stays_root

    @property
    def starts_as(self) -> Value | int:
        """The user of the container."""
        return ROOT if self.capabilities else USER

    @property
    def owner(self) -> Value | int:
        """The user that the recorder runs as in the end, and that the store belongs to."""
        return ROOT if self.stays_root else USER

    @property
    def container_capabilities(self) -> tuple[str, ...]:
        """With those that the recorder itself has no longer: to become another user takes two."""
        return (*self.capabilities, *(("SETGID", "SETUID") if self.gives_root_up else ()))


ALL_LEVELS = (
    Level(
        "minimal",
        "No capability, not root, its own PID namespace: counters of the host, no samples and no kernel log.",
        has_host_pids=False,
        has_samples=False,
    ),
    Level(
        "perf",
        "Not root: samples of all cores, the kernel log, the names of kernel functions.",
        ("PERFMON", "SYSLOG"),
    ),
    Level(
        "full",
        "Root with four capabilities: also who leaks memory cgroups, and names in all containers.",
        ("DAC_READ_SEARCH", "PERFMON", "SYSLOG", "SYS_PTRACE"),
        stays_root=True,
        has_tracefs=True,
    ),
)
