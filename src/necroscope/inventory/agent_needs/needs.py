"""Whether what an agent needs is there: its rule, checked against a machine or an image.

Needs that files can meet are in needs_of_files. The others only a running machine can meet: sockets, units,
devices, hardware, connections. They are read from /proc/1/net/unix, /dev, /sys/bus/pci/devices and
/sys/class/dmi/id. An image is asked for what it says about them: which units are enabled. The rest cannot be
told there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from necroscope.findings.agents import (
    AgentRule,
    Check,
    ConnectionCheck,
    DeviceCheck,
    FileCheck,
    HardwareCheck,
    NeedRule,
    OptionCheck,
    PciCheck,
    SettingCheck,
    SocketCheck,
    TextCheck,
    UnitCheck,
    WithoutCheck,
    WordCheck,
)
from necroscope.findings.connections import is_peer
from necroscope.inventory.agent_needs.needs_of_files import (
    Outcome,
    Surroundings,
    check_file,
    check_option,
    check_setting,
    check_text,
    check_word,
    either,
    expand,
)
from necroscope.model.inventory import Need
from necroscope.model.reading import Absence
from necroscope.sources.host import Host, absence_of
from necroscope.sources.sockets.socket_tables import State, parse_unix

NOT_IN_IMAGE = "not in this image; often it is written at the first boot only"
RUNS = {"active", "reloading", "refreshing"}
WILL_RUN = {"enabled", "enabled-runtime", "generated"}
UNDECIDED = {"activating", "deactivating", "maintenance", "static", "indirect", "alias", "linked"}
FIRMWARE = ("sys_vendor", "product_name", "bios_vendor", "bios_version", "chassis_asset_tag")


def check_needs(host: Host, rule: AgentRule, around: Surroundings) -> tuple[Need, ...]:
    """Every need of an agent in the order of its rule: met, not met, or not to be told here."""
    return tuple(_need(host, need, around) for need in rule.needs)


def _need(host: Host, need: NeedRule, around: Surroundings) -> Need:
    outcomes = []
    for check in need.any:
        outcome = CHECKS[type(check)](host, check, around)
        if outcome.met:
            return Need(need.what, True, outcome.seen)
        outcomes.append(outcome)
    is_known = all(outcome.met is False for outcome in outcomes)
    # Where it cannot be told, why not comes first.
    ordered = sorted(outcomes, key=lambda outcome: outcome.met is False)
    seen = "; ".join(dict.fromkeys(outcome.seen for outcome in ordered))
    if is_known and need.provided_at_boot and not host.is_live:
        seen = f"{seen}; {NOT_IN_IMAGE}"
    return Need(need.what, False if is_known else None, seen)


def check_socket(host: Host, check: SocketCheck, around: Surroundings) -> Outcome:
    """Whether somebody listens on one of the sockets; in an image, whether who makes one is enabled."""
    units = around.units
    makers = _matching(check.made_by, units)
    names = either(check.paths)
    if not host.is_live:
        enabled = [name for name in makers if units[name] in RUNS | WILL_RUN]
        if enabled:
            return Outcome(True, f"{enabled[0]}, which makes {check.paths[0]}, is {units[enabled[0]]}")
        return Outcome(None, f"an image cannot tell who will listen on {names}")
    table = host.read("/proc/1/net/unix", errors="replace").parsed(parse_unix)
    if table.value is None:
        return Outcome(None, table.reason)
    listening = {_below_run(one.name) for one in table.value if one.state is State.LISTENING}
    wanted = {_below_run(path): path for path in check.paths}
    heard = sorted(wanted.keys() & listening)
    if not heard:
        return Outcome(False, f"nobody listens on {names}")
    # systemd goes on listening for a service that has failed.
    failed = [name for name in makers if units[name] == "failed"]
    if failed and not any(units[name] in RUNS | WILL_RUN for name in makers if name.endswith(".service")):
        return Outcome(False, f"{wanted[heard[0]]} has a listener, but {failed[0]} behind it has failed")
    return Outcome(True, f"somebody listens on {wanted[heard[0]]}")


def check_unit(host: Host, check: UnitCheck, around: Surroundings) -> Outcome:
    """Whether one of the units runs or, in an image, is enabled."""
    if check.live_only and not host.is_live:
        return Outcome(None, "nothing runs in an image")
    units = around.units
    found = _matching(check.units, units)
    if not found:
        return Outcome(False, f"there is no {either(check.units)}")
    for name in found:
        if units[name] in (RUNS if check.live_only else RUNS | WILL_RUN):
            return Outcome(True, f"{name} is {units[name]}")
    states = ", ".join(f"{name} is {units[name] or 'in no known state'}" for name in found)
    return Outcome(None if any(units[name] in UNDECIDED for name in found) else False, states)


def check_without(_: Host, check: WithoutCheck, around: Surroundings) -> Outcome:
    """Whether none of the units runs or, in an image, is enabled."""
    units = around.units
    running = [name for name in _matching(check.units, units) if units[name] in RUNS | WILL_RUN]
    if running:
        return Outcome(False, ", ".join(f"{name} is {units[name]}" for name in running))
    return Outcome(True, "no other is there or runs")


def check_device(host: Host, check: DeviceCheck, _: Surroundings) -> Outcome:
    """Whether one of the files that stand for a device is there."""
    if not host.is_live:
        return Outcome(None, "an image has no devices")
    unclear: list[str] = []
    for glob in check.paths:
        for path in expand(host, glob, unclear):
            try:
                host.path(path).lstat()
                return Outcome(True, f"{path} is there")
            except OSError as error:
                if absence_of(error) is not Absence.NOT_SUPPORTED:
                    unclear.append(f"{path}: {error.strerror}")
    return (
        Outcome(None, "; ".join(unclear)) if unclear else Outcome(False, f"there is no {either(check.paths)}")
    )


def check_pci(host: Host, check: PciCheck, _: Surroundings) -> Outcome:
    """Whether there is a PCI device of a vendor and a class."""
    if not host.is_live:
        return Outcome(None, "an image has no PCI bus")
    devices = host.names("/sys/bus/pci/devices")
    if devices.value is None:
        return Outcome(None, devices.reason)
    what = f"PCI device of vendor {check.vendor}" + (
        f", class {check.class_prefix}" if check.class_prefix else ""
    )
    for device in devices.value:
        folder = f"/sys/bus/pci/devices/{device}"
        if host.word(f"{folder}/vendor") == f"0x{check.vendor}" and host.word(f"{folder}/class").startswith(
            f"0x{check.class_prefix}"
        ):
            return Outcome(True, f"{device} is a {what}")
    return Outcome(False, f"no {what} among {len(devices.value)}")


def check_hardware(host: Host, check: HardwareCheck, _: Surroundings) -> Outcome:
    """Whether the firmware names one of the makers."""
    if not host.is_live:
        return Outcome(None, "an image does not say what it will run on")
    said = {name: host.word(f"/sys/class/dmi/id/{name}") for name in FIRMWARE}
    if not any(said.values()):
        return Outcome(None, "the firmware does not say what machine this is (/sys/class/dmi/id)")
    for name, value in said.items():
        if any(fnmatchcase(value.lower(), maker) for maker in check.makers):
            return Outcome(True, f"{name} is {value}")
    machine = " ".join(filter(None, (said["sys_vendor"], said["product_name"])))
    return Outcome(False, f"this machine is a {machine} (/sys/class/dmi/id)")


def check_connection(host: Host, check: ConnectionCheck, around: Surroundings) -> Outcome:
    """Whether the unit is connected to somebody over TCP, the cloud's metadata service aside."""
    otherwise = False if check.only_proves else None
    if not host.is_live:
        return Outcome(otherwise, "an image has no connections")
    if around.calls is None:
        return Outcome(otherwise, "whom it is connected to is not known")
    for call in around.calls:
        if is_peer(call):
            return Outcome(True, f"it is connected to {call}")
    if check.is_always:
        return Outcome(False, "it is connected to nobody; one that works keeps a connection open")
    return Outcome(otherwise, "it is connected to nobody at the moment")


def _matching(globs: Iterable[str], units: Mapping[str, str]) -> list[str]:
    """The units that are meant, in the order of the globs."""
    found: dict[str, None] = {}
    for glob in globs:
        if glob in units:
            found[glob] = None
        elif "*" in glob:
            found |= dict.fromkeys(name for name in sorted(units) if fnmatchcase(name, glob))
    return list(found)


def _below_run(path: str) -> str:
    return path.removeprefix("/var") if path.startswith("/var/run/") else path


CHECKS: Mapping[type[Check], Callable[[Host, Any, Surroundings], Outcome]] = {
    FileCheck: check_file,
    SettingCheck: check_setting,
    TextCheck: check_text,
    OptionCheck: check_option,
    WordCheck: check_word,
    SocketCheck: check_socket,
    UnitCheck: check_unit,
    WithoutCheck: check_without,
    DeviceCheck: check_device,
    PciCheck: check_pci,
    HardwareCheck: check_hardware,
    ConnectionCheck: check_connection,
}
