"""All sections of a snapshot, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from necroscope.audit.sections.bootstrap import read_bootstrap
from necroscope.audit.sections.cgroups import read_cgroups
from necroscope.audit.sections.clock import read_clock
from necroscope.audit.sections.cpu import read_cpu
from necroscope.audit.sections.environment import read_environment
from necroscope.audit.sections.gathered import Facts
from necroscope.audit.sections.identity import read_identity
from necroscope.audit.sections.interrupts import read_interrupts
from necroscope.audit.sections.kernel import read_kernel
from necroscope.audit.sections.kubelet import read_kubelet
from necroscope.audit.sections.labels import read_labels
from necroscope.audit.sections.memory import read_memory
from necroscope.audit.sections.modules import read_modules
from necroscope.audit.sections.mounts import read_mounts
from necroscope.audit.sections.nics import read_nics
from necroscope.audit.sections.packages import read_packages
from necroscope.audit.sections.runtime import read_runtime
from necroscope.audit.sections.subject import Subject
from necroscope.audit.sections.sysctls import read_sysctls
from necroscope.audit.sections.units import read_units
from necroscope.model.reading import Reading

SECTIONS: Mapping[str, Callable[[Subject], Reading[Facts]]] = {
    "labels": read_labels,
    "identity": read_identity,
    "kernel": read_kernel,
    "cgroups": read_cgroups,
    "sysctls": read_sysctls,
    "modules": read_modules,
    "packages": read_packages,
    "units": read_units,
    "bootstrap": read_bootstrap,
    "mounts": read_mounts,
    "interrupts": read_interrupts,
    "nics": read_nics,
    "cpu": read_cpu,
    "memory": read_memory,
    "clock": read_clock,
    "kubelet": read_kubelet,
    "runtime": read_runtime,
    "environment": read_environment,
}

# They have nothing to say about an image, but that it does not run.
OF_RUNNING_MACHINES = frozenset(
    ("cgroups", "sysctls", "modules", "interrupts", "nics", "cpu", "memory", "clock")
)
