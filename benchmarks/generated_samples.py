"""Samples of generated cores, as `perf script` prints them: what the counters say, seen 97 times a second."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from necroscope.model.timestamp import SECOND_NS

HERTZ = 97
WALKING = 100  # ticks in the kernel: the core does nothing but walk memory cgroups
KERNEL = "[kernel.kallsyms]"
USER_LIBRARY = "/usr/bin/server"


def _stack(text: str) -> list[str]:
    return text.split(" > ")


# A work is a process and where it is, innermost last.
WALK = ("kubelet", _stack("entry_SYSCALL_64 > vfs_read > memory_stat_show > mem_cgroup_flush_stats"))
SYSTEM = (
    ("server", _stack("entry_SYSCALL_64 > sys_sendto > tcp_sendmsg > tcp_write_xmit > ip_queue_xmit")),
    ("server", _stack("entry_SYSCALL_64 > sys_futex > futex_wait > schedule")),
    ("containerd", _stack("entry_SYSCALL_64 > vfs_write > ext4_file_write_iter > generic_perform_write")),
)
SOFTIRQ = ("swapper", _stack("asm_common_interrupt > __do_softirq > net_rx_action > ena_io_poll"))
IDLE = ("swapper", _stack("do_idle > default_idle"))
USER = tuple(("server", [f"handle_{name}", f"parse_{name}"]) for name in ("read", "write", "list", "health"))

Ticks = tuple[int, int, int]


def sample_text(seconds: Sequence[Sequence[Ticks]], cores: Sequence[int], begin_ns: int) -> Iterator[str]:
    """The samples of some cores, in the order of time."""
    drawn = random.Random(begin_ns)
    for second, ticks in enumerate(seconds):
        for tick in range(HERTZ):
            time_ns = begin_ns + second * SECOND_NS + tick * SECOND_NS // HERTZ
            for core in cores:
                yield _sample(time_ns, core, *_work(ticks[core], drawn))


def _work(ticks: Ticks, drawn: random.Random) -> tuple[str, list[str], bool]:
    """What a core is seen at: the process, the functions, and whether they are the kernel's."""
    user, system, softirq = ticks
    if system == WALKING:
        return *WALK, True
    at = drawn.randrange(100)
    if at < user:
        return *drawn.choice(USER), False
    if at < user + system:
        return *drawn.choice(SYSTEM), True
    return (*SOFTIRQ, True) if at < user + system + softirq else (*IDLE, True)


def _sample(time_ns: int, core: int, process: str, functions: Sequence[str], in_kernel: bool) -> str:
    pid = 0 if process == "swapper" else 1000 + sum(process.encode())
    place = f"ffffffff81200010 {{}}+0x10 ({KERNEL})" if in_kernel else f"47a3c1 {{}}+0x11 ({USER_LIBRARY})"
    frames = "".join(f"\t{place.format(name)}\n" for name in reversed(functions))
    main = "" if pid == 0 else f"\t47a000 main+0x11 ({USER_LIBRARY})\n"
    when = f"{time_ns // SECOND_NS}.{time_ns % SECOND_NS // 1000:06d}"
    return f"{process} {pid}/{pid} [{core:03d}] {when}:   10101010 cpu-clock:\n{frames}{main}\n"
