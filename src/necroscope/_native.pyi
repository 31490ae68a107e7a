"""The Rust core (native/core) as Python sees it."""

from pathlib import Path
from typing import Any

def list_directories(root: str | Path) -> tuple[list[str], int, int]:
    """A directory and all below it, as relative paths; how many would not open, or have no usable path."""

def find_below(root: str | Path, name: str) -> int:
    """Find a file below a root, which no link leads out of: an O_PATH descriptor. Raises OSError."""

class TaskScanner:
    """Remembers the CPU time of every thread below a proc mount."""

    def __init__(self, proc: str | Path) -> None: ...
    def scan(
        self, most: int
    ) -> tuple[int, list[tuple[int, int, str, int, int, int]], list[tuple[int, str, int]]]:
        """Processes seen; (pid, tid, comm, core, user ticks, system ticks) of the `most` busiest threads of
        every core since the scan before, with core -1 for a process with too many threads; (pid, comm, ticks)
        of parents whose children ended since."""

class CgroupTrace:
    """Follows the cgroups of one hierarchy from now on, in a tracefs instance of its own.

    `hierarchy` is its number in /proc/PID/cgroup, `proc` where processes are looked up. OSError: there is no
    tracefs, it may not be used, or the tracepoints are missing.
    """

    def __init__(self, tracing: str | Path, proc: str | Path, hierarchy: int) -> None: ...
    def take(
        self, now_ns: int, settled_ns: int, most_groups: int, most_leaks: int
    ) -> tuple[
        tuple[int, int, int, int, int],
        list[tuple[str, str, str, str, str, int, int, int, int, int, str]],
        list[tuple[int, str, int | None, int, str, int | None, str, str, int, str]],
        list[int],
    ]:
        """The accounts at a time of CLOCK_MONOTONIC; a cgroup removed `settled_ns` before is a zombie.

        (lost, untracked, freed older, dying, zombies);
        (pattern, creator, its cgroups, remover, its cgroups, made, removed, released, dying, zombies, path);
        (id, path, made, removed, creator, pid, its cgroups, remover, pid, its cgroups) of the newest of those
        that became zombies since the last time; ids of zombies that were freed since. Cgroups are lines of
        /proc/PID/cgroup. OSError: tracing ended.
        """

    def close(self) -> None:
        """Stop, and remove the instance."""

class CoreGrid:
    """How every core spent every step of time, in one letter; times in UTC.

    Rules are (letter, quantity, at least), the worst first; quantities: kernel, softirq, steal, busy, user,
    iowait, any. Intervals longer than `longest` lie over a hole and are left out.
    """

    def __init__(
        self, begin: int, end: int, step: int, longest: int, rules: list[tuple[str, str, float]]
    ) -> None: ...
    def add_file(self, path: str | Path, offset: int) -> None:
        """Add the cores table of a sealed segment. OSError: it is missing or damaged."""

    def add_columns(self, columns: dict[str, list[int]], offset: int) -> None:
        """Add counters by column: time, core and the modes of CPU time."""

    def states(self) -> list[tuple[int, str]]:
        """(core, a letter a step); a blank where nothing is known."""

class SegmentHeat:
    """How full every core was in every second of a segment. It can be kept, and used by several threads."""

    @property
    def size_bytes(self) -> int:
        """How much memory it takes."""

def seconds_of_files(files: list[tuple[Path, int]]) -> list[SegmentHeat | OSError]:
    """Read cores tables of sealed segments, each (path, by how much its times are behind UTC).

    Two threads read. In the place of a file that is missing (with errno) or damaged stands the error.
    """

class CoreHeat:
    """How full every core was in columns of whole seconds; times in UTC.

    ValueError: `begin` or `step` is not a whole number of seconds.
    """

    def __init__(self, begin: int, end: int, step: int) -> None: ...
    def add_seconds(self, seconds: SegmentHeat) -> None:
        """Add a segment; what of it lies outside is left out."""

    def add_columns(self, columns: dict[str, list[int]], offset: int) -> None:
        """Add counters by column: time, core and the modes of CPU time. ValueError: one is missing."""

    @property
    def cores(self) -> list[int]:
        """The cores that anything is known of, in order."""

    @property
    def columns(self) -> int: ...
    def percents(self, quantity: str) -> bytes:
        """A byte for every column, core by core: percent of the fullest second, 255 where nothing is known.

        Quantities: user, system (with interrupts, without softirqs), softirq, steal, wait.
        """

def import_perf_data(
    path: str | Path,
    folder: str | Path,
    *,
    kallsyms: str | Path | None,
    root: str | Path | None,
    idle: list[str],
    interrupt: list[str],
    begin: int | None = None,
    end: int | None = None,
) -> dict[str, Any]:
    """Read a perf.data file into a sealed profile, and say what was in it.

    Of samples and kernel log lines only those with begin <= time < end on the capture's clock are taken;
    what was lost and throttled is that of the whole file. Without samples, begin_ns and end_ns are None.
    `per_core` has (cpu, samples, first_ns, last_ns, largest_gap_ns) of every core that the file's first event
    sampled, of that event alone; cpu is -1 where unknown, the gap 0 where there is one sample.

    OSError: it cannot be read or written. ValueError: it is not a perf.data file that we can read.
    """

def perf_data_span(path: str | Path) -> tuple[int, int] | None:
    """Times of the first and the last sample of a perf.data file, finished or not; None without samples.

    Reads the whole file. Errors are those of `import_perf_data`.
    """

class Search:
    """A text that is looked for in the names of functions, processes and threads, in upper or lower case; or
    a regular expression, whose case counts. ValueError: it is no expression, or too large."""

    def __init__(self, text: str, is_regexp: bool) -> None: ...

class Query:
    """Which samples are wanted; times on the capture's clock, empty lists mean all.

    `only_matching`: only those of which a function, the process or the thread matches the search.
    """

    def __init__(
        self,
        begin: int,
        end: int,
        *,
        cpus: list[int],
        processes: list[str],
        threads: list[str],
        events: list[str],
        idle: bool,
        search: Search | None = None,
        only_matching: bool = False,
    ) -> None: ...

class Profile:
    """A sealed profile, opened. OSError: it is missing or damaged."""

    def __init__(self, folder: str | Path) -> None: ...
    def span(self) -> tuple[int, int] | None:
        """Times of the first and the last sample."""

    @property
    def events(self) -> list[str]: ...
    @property
    def tasks(self) -> list[tuple[int, int, str, str]]:
        """(pid, tid, comm, process) of every thread that was sampled."""

    def subsecond(self, query: Query, rows: int) -> tuple[int, int, list[int]]:
        """(columns, rows, cells by column): one column a second, one row a fraction of it."""

    def cores(self, query: Query, step_ns: int) -> tuple[int, int, list[int]]:
        """(columns, rows, cells by column): one column a step of time, one row a core."""

class Scope:
    """Samples by second, a column each, and fraction of a second, a row each, the earliest first.

    ValueError: there is no row, or there are more cells than a day has in fifty rows.
    """

    def __init__(self, columns: int, rows: int) -> None: ...
    def add(self, profile: Profile, query: Query, begin: int) -> None:
        """Add the samples of one profile, on whose clock the first column begins at `begin`."""

    @property
    def totals(self) -> tuple[int, int, int]:
        """Samples counted, idle, and without a name for their innermost frame."""

    @property
    def most(self) -> int:
        """The largest count of a cell."""

    @property
    def counts(self) -> bytes:
        """Samples of each cell, column by column: 16 bits each, little-endian; what is above is 65535."""

    @property
    def matched(self) -> bytes:
        """Those of them that the search matches; empty if no query had one."""

    @property
    def cpus(self) -> list[tuple[int, int]]:
        """(core, samples) of every core, also of those that the query leaves out; -1 is unknown."""

    def processes(self, most: int) -> list[tuple[str, int]]:
        """(name, samples) of those with most, also of those that the query leaves out."""

    def threads(self, most: int) -> list[tuple[str, int]]:
        """The same by the name of the thread."""

class Window:
    """Stacks of a window and how often each was seen."""

    def __init__(self) -> None: ...
    def add(self, profile: Profile, query: Query, split: str) -> None:
        """Add the samples of one profile; split: whole, comm, process, thread, core."""

    @property
    def totals(self) -> tuple[int, int, int]:
        """Samples counted, idle, and without a name for their innermost frame."""

    def folded(self) -> list[tuple[list[str], int]]:
        """Stacks as labels, outermost first, with their counts."""

    def tree(
        self, baseline: Window | None, inverted: bool
    ) -> tuple[list[int], list[int], list[int], list[int], list[int], list[int], list[tuple[str, str, str]]]:
        """Parents, labels, total, own, baseline's total and own, and the labels (name, kind, module)."""

    def tree_bytes(
        self, baseline: Window | None, inverted: bool
    ) -> tuple[bytes, bytes, bytes, bytes, bytes | None, bytes | None, list[tuple[str, str, str]]]:
        """The same, each column as numbers of 32 bits, little-endian; what is above is the largest."""

def merge_profiles(
    parts: list[tuple[Path, Query]], split: str, threads: int
) -> tuple[Window, list[tuple[int, OSError]]]:
    """The stacks of many profiles as one window, in an order of its own: the same however it was divided.

    Each thread reads profiles of its own. One that cannot be read is left out as a whole: (place, error).
    """

def merge_windows(parts: list[bytes]) -> Window:
    """Encoded windows as one, in the same order. ValueError: the bytes are not those of a window."""

def encode_window(window: Window) -> bytes:
    """A window as bytes, for `merge_windows` of the same version."""

class Tally:
    """Samples of processes and kernel functions in bins of time, from `starts` on the capture's clock.

    ValueError: the bins are not in order, or overlap.
    """

    def __init__(self, starts: list[int], length: int) -> None: ...
    def add(self, profile: Profile, query: Query) -> None:
        """Add the samples of one profile; of the query, the time and `idle` do not matter."""

    @property
    def totals(self) -> tuple[list[int], list[int]]:
        """Samples of each bin: those that pass the query, idle cores too; and those of any core."""

    def rows(self, least: int) -> list[tuple[str, str, str, list[int], int]]:
        """(process, kernel function, way, samples of each bin, summed depth in the stacks) with at least so
        many samples; idle cores are left out. An empty process or function means any. Ways: "" all of a
        process, "kernel" that of it in the kernel, "self" in a function alone, "inclusive" in it and what it
        calls."""

def import_perf_script(
    path: str | Path, folder: str | Path, *, idle: list[str], interrupt: list[str]
) -> dict[str, Any]:
    """Read the text of `perf script`, plain or gzip, into a sealed profile, and say what was in it.

    The keys are those of `import_perf_data` but `per_core`; `lost_samples` and `throttles` are None, since
    the text does not say, and `lost_records` is None unless it shows such events. `captured_on` is a local
    time without a zone, or None. OSError: it cannot be read or written. ValueError: there is no sample in it.
    """

def import_folded(
    path: str | Path, folder: str | Path, *, idle: list[str], interrupt: list[str]
) -> dict[str, Any]:
    """Read folded stacks, plain or gzip, into a sealed profile with all samples at time 0.

    OSError: it cannot be read or written. ValueError: there is no stack in it, or the counts are too high.
    """

def sniff_profile(path: str | Path) -> str | None:
    """perf.data, perf-script or folded, by the first bytes; None for anything else. OSError: unreadable."""

class CounterTables:
    """The readings of a journal as tables, whose layout is a frame of the journal. ValueError: it is not one.

    `misfit` is the absence of a reading whose rows are not as the layout has them. Its detail is
    `misfit_detail`; None: the table and the column that differ.
    """

    def __init__(self, layout: bytes, misfit: str, misfit_detail: str | None) -> None: ...
    def add(
        self, moment: bytes
    ) -> tuple[int, list[tuple[str, tuple[str, str] | None]], list[tuple[str, int]]]:
        """Take the rows of a moment frame: its time, why each source gave none (None: it did), and costs.

        ValueError: it is not a moment.
        """

    def write(self, folder: str | Path) -> None:
        """Write the tables as Parquet files, once. OSError: they cannot be written, as in write_table."""

def write_table(path: str | Path, columns: list[tuple[str, str, list[Any]]]) -> None:
    """Write columns (name, kind, values) as a Parquet file; None is a missing value.

    Kinds: int (64 bits; what is beyond is cut to the largest or smallest), float, text (what is not UTF-8 is
    replaced), bool. A file that is there is overwritten, and a failed write leaves a part of it behind.
    OSError: it cannot be written, with errno where the system said why. ValueError: an unknown kind, a value
    of another kind, columns of different lengths or of the same name, or none.
    """

def read_table(path: str | Path, names: list[str] | None = None) -> dict[str, list[Any]]:
    """Columns of such a file by name, in its order; of `names` only those that it has.

    OSError: it is missing (with errno), damaged, or has columns that are not of these kinds.
    """
