"""Users and groups that services may run as, and that a machine has or will make at boot.

Reads    /etc/passwd, /etc/group and those below /usr/lib; sysusers.d and userdb; /etc/nsswitch.conf
Needs    nothing
Costs    0.2 ms for a user of /etc/passwd, 1 ms for one that nobody knows
"""

from __future__ import annotations

import re

from necroscope.model.reading import Absence
from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_settings import split_words

TOPS = ("/etc", "/run", "/usr/local/lib", "/usr/lib")
ALWAYS_THERE = ("root", "nobody", "nogroup")  # systemd makes up what is missing of them
# Others ask a server, which may know any name.
LOCAL_DATABASES = frozenset({"files", "systemd", "compat", "altfiles", "db", "mymachines"})


def is_known(host: Host, name: str, kind: str) -> bool | None:
    """Whether a user (`passwd`) or a group (`group`) is there, or will be; None where it cannot be told."""
    if name.isdigit() or name in ALWAYS_THERE:
        return True
    files = [host.read_regular(f"{top}/{kind}", "replace") for top in ("/etc", "/usr/lib")]
    if files[0].value is None:
        return None
    if any(re.search(rf"^{re.escape(name)}:", file.value or "", re.MULTILINE) for file in files):
        return True
    record = f"{name}.{'user' if kind == 'passwd' else 'group'}"
    if any(record in (host.names(f"{top}/userdb").value or ()) for top in TOPS):
        return True
    if _will_be_made(host, name, kind):
        return True
    is_lost = files[1].absence in (Absence.NOT_PERMITTED, Absence.BROKEN)
    return None if is_lost or _may_ask_a_server(host, kind) else False


def _will_be_made(host: Host, name: str, kind: str) -> bool:
    files: dict[str, str] = {}
    for top in TOPS:
        for file in host.names(f"{top}/sysusers.d").value or ():
            files.setdefault(file, f"{top}/sysusers.d/{file}")
    return any(
        name in _made_by(line, kind)
        for file, path in files.items()
        if file.endswith(".conf")
        for line in (host.read(path, errors="replace").value or "").splitlines()
        if name in line
    )


def _made_by(line: str, kind: str) -> list[str]:
    """The users, or the groups, that one line of sysusers.d makes."""
    words = split_words(line)
    if len(words) < 2:
        return []
    match words[0].rstrip("!"):
        case "u":
            return [words[1]]  # with a group of the same name
        case "g":
            return [words[1]] if kind == "group" else []
        case "m":
            return words[1:2] if kind == "passwd" else words[1:3]
    return []


def _may_ask_a_server(host: Host, kind: str) -> bool:
    switch = host.read_regular("/etc/nsswitch.conf", "replace")
    if switch.value is None:
        return switch.absence is not Absence.NOT_SUPPORTED
    for line in switch.value.splitlines():
        database, colon, services = line.partition("#")[0].partition(":")
        if colon and database.strip() == kind:
            return any(
                service not in LOCAL_DATABASES for service in services.split() if not service.startswith("[")
            )
    return False
