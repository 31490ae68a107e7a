"""All sections of a snapshot, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from necroscope.inventory.sections.bootstrap import read_bootstrap
from necroscope.inventory.sections.cgroups import read_cgroups
from necroscope.inventory.sections.clock import read_clock
from necroscope.inventory.sections.cpu import read_cpu
from necroscope.inventory.sections.environment import read_environment
from necroscope.inventory.sections.gathered import Facts
from necroscope.inventory.sections.identity import read_identity
from necroscope.inventory.sections.interrupts import read_interrupts
from necroscope.inventory.sections.kernel import read_kernel
from necroscope.inventory.sections.kubelet import read_kubelet
from necroscope.inventory.sections.labels import read_labels
from necroscope.inventory.sections.memory import read_memory
from necroscope.inventory.sections.modules import read_modules
from necroscope.inventory.sections.mounts import read_mounts
from necroscope.inventory.sections.nics import read_nics
from necroscope.inventory.sections.packages import read_packages
from necroscope.inventory.sections.runtime import read_runtime
from necroscope.inventory.sections.subject import Subject
from necroscope.inventory.sections.sysctls import read_sysctls
from necroscope.inventory.sections.units import read_units
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
