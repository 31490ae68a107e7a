"""A generated host with many cores: its /proc and /sys as files that change from second to second."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from necroscope.model.reading import Reading
from necroscope.model.timestamp import SECOND_NS
from necroscope.sources.host import Host
from necroscope.sources.nic_counters import Counter as NicCounter
from necroscope.sources.nic_counters import DeviceCounters, NicCounters
from necroscope.sources.source import Read

CORES_COUNT = 96
ENA_DEVICES, ENA_QUEUES = 2, 32
ENA_DEVICE_COUNTERS = (
    *("total_resets", "reset_fail", "tx_timeout", "wd_expired", "admin_q_pause", "bw_in_allowance_exceeded"),
    *("bw_out_allowance_exceeded", "pps_allowance_exceeded", "conntrack_allowance_exceeded"),
)
ENA_QUEUE_COUNTERS = (
    *("tx_cnt", "tx_bytes", "tx_queue_stop", "tx_prepare_ctx_err", "tx_queue_wakeup", "tx_dma_mapping_err"),
    *("tx_linearize", "tx_linearize_failed", "tx_napi_comp", "tx_tx_poll", "tx_doorbells", "tx_bad_req_id"),
    *("tx_llq_buffer_copy", "tx_missed_tx", "tx_unmask_interrupt", "tx_last_napi_jiffies"),
    *("rx_cnt", "rx_bytes", "rx_rx_copybreak_pkt", "rx_csum_good", "rx_refil_partial", "rx_csum_bad"),
    *("rx_page_alloc_fail", "rx_skb_alloc_fail", "rx_dma_mapping_err", "rx_bad_desc_num", "rx_bad_req_id"),
    *("rx_empty_rx_ring", "rx_csum_unchecked", "rx_xdp_aborted", "rx_xdp_drop", "rx_xdp_pass", "rx_xdp_tx"),
    *("rx_xdp_invalid", "rx_xdp_redirect"),
)
MOVING_COUNTERS = 0.3  # of a NIC's counters: most count errors that never happen
DISK_QUEUES = 64
PROCESSES, BUSY_PROCESSES, THREADS = 600, 48, 4
CGROUPS = 200
STUCK_CORE, STUCK_SECONDS = 7, range(60, 66)  # it runs in the kernel and nowhere else, once a segment


class LargeHost:
    """A tree of /proc and /sys files of a host with many cores, whose counters move from second to second."""

    def __init__(self, root: Path, cores: int = CORES_COUNT) -> None:
        self.cores = cores
        self._root = root
        self._random = random.Random(96)
        self._second = 0
        self._counts: dict[str, list[int]] = {}
        self._nic = [0] * (ENA_DEVICES * (len(ENA_DEVICE_COUNTERS) + ENA_QUEUES * len(ENA_QUEUE_COUNTERS)))
        self._moving = [self._random.random() < MOVING_COUNTERS for _ in self._nic]
        self._write_fixed()
        self.advance()

    def advance(self) -> None:
        """A second passes."""
        for text in (self._stat, self._softirqs, self._interrupts, self._softnet, self._schedstat):
            name, content = text()
            self._write(name, content)
        self._advance_tasks()
        moved = self._random.randrange
        self._nic = [
            n + moved(10_000) if moves else n for n, moves in zip(self._nic, self._moving, strict=True)
        ]
        self._second += 1

    def open_nic_counters(self, _: Host) -> Read[NicCounters]:
        """What `ethtool -S` of the generated devices says: a file cannot stand for an ioctl."""
        of_queue = (f"queue_{queue}_{name}" for queue in range(ENA_QUEUES) for name in ENA_QUEUE_COUNTERS)
        names = (*ENA_DEVICE_COUNTERS, *of_queue)

        def read() -> Reading[NicCounters]:
            found = []
            for device in range(ENA_DEVICES):
                values = self._nic[device * len(names) : (device + 1) * len(names)]
                counters = tuple(map(NicCounter._make, zip(names, values, strict=True)))
                found.append(DeviceCounters(f"eth{device}", "ena", "2.13.0g", "", counters))
            return Reading(tuple(found))

        return read

    def _write(self, name: str, content: str) -> None:
        path = self._root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)

    def _link(self, name: str, target: str) -> None:
        path = self._root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)

    def _grow(self, name: str, most: int) -> list[int]:
        """A counter of every core, a second later."""
        old = self._counts.get(name) or [self._random.randrange(most * 10_000) for _ in range(self.cores)]
        self._counts[name] = [count + self._random.randrange(most + 1) for count in old]
        return self._counts[name]

    def _stat(self) -> tuple[str, str]:
        ticks = self._counts.setdefault("stat", [0] * 8 * self.cores)
        for core in range(self.cores):
            user, system, softirq = (self._random.randrange(most) for most in (60, 20, 8))
            if core == STUCK_CORE and self._second in STUCK_SECONDS:
                user, system, softirq = 0, 100, 0
            spent = (user, 0, system, 100 - user - system - softirq, 0, 0, softirq, 0)
            ticks[8 * core : 8 * core + 8] = map(sum, zip(ticks[8 * core : 8 * core + 8], spent, strict=True))
        rows = [
            f"cpu{core} {' '.join(map(str, ticks[8 * core : 8 * core + 8]))} 0 0"
            for core in range(self.cores)
        ]
        all_cores = " ".join(str(sum(ticks[mode::8])) for mode in range(8))
        tail = ["intr 9 0", "ctxt 9", "btime 1767268800", "processes 9", "softirq 9 1 1 1 1 1 1 1 1 1 1"]
        return "proc/stat", "\n".join([f"cpu  {all_cores} 0 0", *rows, *tail, ""])

    def _softirqs(self) -> tuple[str, str]:
        kinds = ("HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU")
        rows = [f"{kind:>12}:" + "".join(f"{n:>11}" for n in self._grow(kind, 900)) for kind in kinds]
        return "proc/softirqs", "\n".join([self._head(), *rows, ""])

    def _head(self) -> str:
        return " " * 13 + "".join(f"{f'CPU{core}':>11}" for core in range(self.cores))

    def _interrupts(self) -> tuple[str, str]:
        rows = []
        for irq, name in self._irqs():
            taken = self._grow(f"irq {irq}", 4000)[0]
            counts = [0] * self.cores
            # An interrupt has been on two cores since boot: where it is now, and where it was before.
            counts[irq % self.cores], counts[(irq + 1) % self.cores] = taken, 17
            rows.append(f"{irq:>5}: {' '.join(f'{n:>10}' for n in counts)}  IR-PCI-MSIX  {irq}-edge  {name}")
        for kind in ("NMI", "LOC", "RES", "CAL", "TLB"):
            rows.append(f"{kind:>5}: {' '.join(f'{n:>10}' for n in self._grow(kind, 900))}  of the machine")
        return "proc/interrupts", "\n".join([self._head(), *rows, ""])

    def _irqs(self) -> Iterator[tuple[int, str]]:
        names = [f"eth{d}-Tx-Rx-{queue}" for d in range(ENA_DEVICES) for queue in range(ENA_QUEUES)]
        names += [f"ena-mgmnt@pci:0000:00:0{5 + device}.0" for device in range(ENA_DEVICES)]
        names += [f"nvme0q{queue}" for queue in range(DISK_QUEUES)]
        return enumerate(names, 30)

    def _softnet(self) -> tuple[str, str]:
        processed, squeezed = self._grow("processed", 5000), self._grow("squeezed", 2)
        rows = [
            f"{processed[core]:08x} 00000000 {squeezed[core]:08x}"
            + " 00000000" * 9
            + f" {core:08x} 00000000 0"
            for core in range(self.cores)
        ]
        return "proc/net/softnet_stat", "\n".join([*rows, ""])

    def _schedstat(self) -> tuple[str, str]:
        running, waiting = self._grow("running", SECOND_NS), self._grow("waiting", SECOND_NS // 50)
        rows = ["version 17", f"timestamp {4294937296 + self._second}"]
        for core in range(self.cores):
            rows.append(f"cpu{core} 0 0 0 0 0 0 {running[core]} {waiting[core]} 2154")
            rows += [f"domain{level} ffffffff,ffffffff,ffffffff" + " 120" * 45 for level in range(2)]
        return "proc/schedstat", "\n".join([*rows, ""])

    def _advance_tasks(self) -> None:
        delays = self._grow("delay", SECOND_NS // 100)
        for core in range(self.cores):
            self._write(f"proc/{10 + core}/schedstat", f"86093441 {delays[core]} 2154\n")
        used = self._grow("used", 50)
        for number in range(BUSY_PROCESSES):
            pid = 1000 + number
            for thread in range(THREADS):
                core = (number * THREADS + thread) % self.cores
                ticks = used[(number + thread) % self.cores]
                self._write_stat(f"proc/{pid}/task/{pid + thread * 10_000}", "worker", core, ticks, THREADS)
            self._write_stat(f"proc/{pid}", "worker", number, used[number] * THREADS, THREADS)

    def _write_stat(self, folder: str, comm: str, core: int, ticks: int, threads: int = 1) -> None:
        pid = folder.rpartition("/")[2]
        flags = 0x00200040 if comm.startswith("ksoftirqd") else 0x400000
        head = f"{pid} ({comm}) S 1 1 1 0 -1 {flags} 0 0 0 0 {ticks} {ticks // 4} 0 0 20 0 {threads} 0 4711"
        self._write(f"{folder}/stat", f"{head} 0 0 {'0 ' * 14}{core} 0 0 0 0 0 0 0 0 0 0 0 0 0\n")

    def _write_fixed(self) -> None:
        cores = f"0-{self.cores - 1}\n"
        fixed = {
            "sys/devices/system/cpu/online": cores,
            "sys/devices/system/cpu/possible": cores,
            "proc/sys/kernel/hostname": "large\n",
            "proc/sys/kernel/osrelease": "6.1.0\n",
            # Of this boot: the kernel's symbols are looked up by it.
            "proc/sys/kernel/random/boot_id": Path("/proc/sys/kernel/random/boot_id").read_text(),
            "etc/os-release": 'PRETTY_NAME="generated"\n',
            "dev/kmsg": "6,1,1000,-;Linux version 6.1.0\n",
            "sys/fs/cgroup/cgroup.controllers": "cpu memory\n",
            "sys/fs/cgroup/cgroup.stat": f"nr_descendants {CGROUPS}\nnr_dying_descendants 3\n",
        }
        for own in ("1", "self"):
            mount = "30 24 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n"
            fixed[f"proc/{own}/mountinfo"] = mount
        for name, content in fixed.items():
            self._write(name, content)
        for name in ("meminfo", "vmstat", "pressure/cpu", "pressure/io", "pressure/memory"):
            self._write(f"proc/{name}", Path(f"/proc/{name}").read_text())
        self._write_processes()
        self._write_devices()
        for number in range(CGROUPS):
            folder = f"sys/fs/cgroup/pod{number}.slice"
            self._write(f"{folder}/cpu.max", "400000 100000\n")
            self._write(f"{folder}/cpu.stat", "nr_periods 1200\nnr_throttled 310\nthrottled_usec 48210933\n")

    def _write_processes(self) -> None:
        names = {1: "systemd", **{10 + core: f"ksoftirqd/{core}" for core in range(self.cores)}}
        names |= {1000 + number: "worker" for number in range(PROCESSES - len(names))}
        for pid, comm in names.items():
            self._write_stat(f"proc/{pid}", comm, pid % self.cores, 100)
            self._write_stat(f"proc/{pid}/task/{pid}", comm, pid % self.cores, 100)
            self._write(f"proc/{pid}/comm", f"{comm}\n")
            self._write(f"proc/{pid}/cgroup", f"0::/system.slice/service{pid % 40}.service\n")

    def _write_devices(self) -> None:
        for device in range(ENA_DEVICES):
            address, folder = f"0000:00:0{5 + device}.0", f"sys/class/net/eth{device}"
            self._link(f"{folder}/device", f"../../../devices/pci0000:00/{address}")
            self._link(f"sys/devices/pci0000:00/{address}/driver", "../../../bus/pci/drivers/ena")
            (self._root / "sys/bus/pci/drivers/ena").mkdir(parents=True, exist_ok=True)
            for queue in range(ENA_QUEUES):
                self._write(f"{folder}/queues/tx-{queue}/tx_timeout", "0\n")
                self._write(f"{folder}/queues/tx-{queue}/xps_cpus", "00000000,00000000,00000001\n")
        for irq, _ in self._irqs():
            self._write(f"proc/irq/{irq}/effective_affinity_list", f"{irq % self.cores}\n")
