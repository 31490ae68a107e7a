"""Programs that run another program: what stands between their own name and that of the other.

Which of their options take a value is from their manual pages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple


class Launcher(NamedTuple):
    """How the command line of one goes on behind its name."""

    valued: str = ""  # options that take a value, without their dashes
    operands: int = 0  # words between the options and the program: a duration, a user, a lock
    script: str = ""  # options whose value is a script for a shell
    is_assigning: bool = False  # A=b may stand before the program


_IDENTITY = "S setuid G setgid"

LAUNCHERS: Mapping[str, Launcher] = {
    "busybox": Launcher(),
    "catatonit": Launcher(),
    "cgexec": Launcher("g"),
    "chroot": Launcher("userspec groups", operands=1),
    "chrt": Launcher("T sched-runtime P sched-period D sched-deadline", operands=1),
    "dumb-init": Launcher("r rewrite"),
    "env": Launcher("u unset C chdir S split-string", is_assigning=True),
    "exec": Launcher("a"),
    "flock": Launcher("w wait timeout E conflict-exit-code c command", operands=1, script="c command"),
    "gosu": Launcher(operands=1),
    "ionice": Launcher("c class n classdata p pid P pgid u uid"),
    "nice": Launcher("n adjustment"),
    "nohup": Launcher(),
    "nsenter": Launcher(f"t target W wdns {_IDENTITY}"),
    "numactl": Launcher(
        "i interleave w weighted-interleave N cpunodebind C physcpubind m membind p preferred"
        " P preferred-many S shm L length o offset f file M shmmode I shmid"
    ),
    "runuser": Launcher("u user g group G supp-group s shell w whitelist-environment"),
    "setpriv": Launcher(
        "ambient-caps inh-caps bounding-set ruid euid rgid egid reuid regid groups securebits pdeathsig"
        " ptracer selinux-label apparmor-profile landlock-access landlock-rule seccomp-filter"
    ),
    "setsid": Launcher(),
    "stdbuf": Launcher("i input o output e error"),
    "su": Launcher(
        "c command session-command g group G supp-group s shell w whitelist-environment",
        operands=1,
        script="c command session-command",
    ),
    "su-exec": Launcher(operands=1),
    "sudo": Launcher(
        "u user g group p prompt C close-from D chdir h host R chroot r role t type T command-timeout"
        " U other-user",
        is_assigning=True,
    ),
    "systemd-cat": Launcher("t identifier p priority stderr-priority level-prefix namespace"),
    "systemd-inhibit": Launcher("what who why mode"),
    "systemd-run": Launcher(
        "u unit p property E setenv H host M machine C capsule slice description uid gid nice"
        " working-directory service-type job-mode background on-active on-boot on-startup on-unit-active"
        " on-unit-inactive on-calendar path-property socket-property timer-property"
    ),
    "taskset": Launcher(operands=1),
    "time": Launcher("f format o output"),
    "timeout": Launcher("k kill-after s signal", operands=1),
    "tini": Launcher("p e"),
    "unshare": Launcher(
        "R root w wd l load-interp propagation setgroups map-user map-group map-users map-groups"
        f" monotonic boottime {_IDENTITY}"
    ),
}

# By its name without a version: options that take a value, the first ones a script of its own language.
INTERPRETERS: Mapping[str, tuple[str, str]] = {
    "lua": ("e", "l"),
    "node": ("e eval p print", "r require import loader"),
    "nodejs": ("e eval p print", "r require import loader"),
    "perl": ("e E", "I"),
    "php": ("r", "c d z"),
    "python": ("c", "W X"),
    "ruby": ("e", "I r C E"),
}

ENGINES = ("ctr", "docker", "nerdctl", "podman", "snap")
# Most options of container engines take a value; these do not.
ENGINE_FLAGS = (
    "D debug debug-full tls tlsverify remote syslog d detach i interactive t tty P publish-all q quiet rm rmi"
    " init privileged read-only read-only-tmpfs no-healthcheck oom-kill-disable sig-proxy replace no-hosts"
    " no-hostname no-pivot disable-content-trust help use-api-socket env-host http-proxy passwd unsetenv-all"
    " tls-verify insecure-registry null-io net-host cni rootfs allow-new-privs isolated"
)
ENGINE_GROUPS = ("container", "containers", "c", "task", "tasks")  # docker container run


def take_options(
    words: Sequence[str], takes_value: Callable[[str], bool]
) -> tuple[dict[str, str], list[str]]:
    """The options that the words begin with, without dashes, each with its value; and the other words."""
    options: dict[str, str] = {}
    index = 0
    while index < len(words) and words[index].startswith("-"):
        word = words[index]
        index += 1
        if word == "--":
            break
        waiting = _note(word, takes_value, options)
        if waiting and index < len(words):
            options[waiting] = words[index]
            index += 1
    return options, list(words[index:])


def _note(word: str, takes_value: Callable[[str], bool], options: dict[str, str]) -> str:
    """Write down the options of one word; the one that comes back has its value in the next word."""
    if word.startswith("--"):
        name, equals, value = word[2:].partition("=")
        options[name] = value
        return name if not equals and takes_value(name) else ""
    for index, letter in enumerate(word[1:], 1):
        options[letter] = ""
        if takes_value(letter):
            options[letter] = word[index + 1 :].removeprefix("=")
            return "" if options[letter] else letter
    return ""
