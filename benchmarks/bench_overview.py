"""The overview of twelve hours of 96 cores in a browser: cold, panned and zoomed, and the memory it takes.

    python benchmarks/bench_overview.py [--hours 12] [--cores 96] [--store DIR]

Limits: the overview in 1 s, from the address to the last pixel, the first that a server is asked for, once it
has read the newest hours (it does so when it starts), and for comparison without waiting for that; files are
not in memory when it starts. Any pan or zoom in 100 ms, from the key to the pixels. The store is generated
(benchmarks/generate_days.py), unless one from an earlier run is given.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, ViewportSize

from benchmarks.bench_hour import forget
from benchmarks.generate_days import generate, plan_of
from benchmarks.timing import report
from tests.server.served import Served, served
from tests.web.browsing import chromium, why_not

OVERVIEW_LIMIT_SECONDS = 1.0
MOVE_LIMIT_SECONDS = 0.1
FIRST_RUNS = 3
IDLE_SECONDS = 1.0
MOVES = 20
SIZE: ViewportSize = {"width": 1280, "height": 720}

# Notes when each part of the overview is on the screen, in ms since the address was opened.
WATCH_PARTS = """
window.parts = {};
const isThere = {
  events: () => document.querySelector('button.mark'),
  cores: () => document.querySelector('.heatmap canvas') && document.querySelector('.heatmap-message:empty'),
  cgroups: () => document.querySelector('.zombies .uplot canvas'),
  verdict: () => document.querySelector('.verdict:not([data-level=loading])'),
};
const look = () => {
  for (const [name, found] of Object.entries(isThere))
    if (!(name in window.parts) && found()) window.parts[name] = performance.now();
  if (Object.keys(window.parts).length < 4) requestAnimationFrame(look);
};
requestAnimationFrame(look);
window.asking = 0;
const ask = window.fetch;
window.fetch = (...words) => {
  window.asking++;
  return ask(...words).finally(() => window.asking--);
};
"""
# From a key to the end of the frame that shows what it did, in ms.
PRESS = """async key => {
  const canvas = document.querySelector('.heatmap canvas');
  const began = window.pressed = performance.now();
  canvas.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));
  await new Promise(done => requestAnimationFrame(() => {
    const after = new MessageChannel();
    after.port1.onmessage = done;
    after.port2.postMessage(0);
  }));
  return performance.now() - began;
}"""
# The page asks when a move has come to rest, for the verdict last.
AT_REST = """() => performance.now() > window.pressed + 1000 && window.asking === 0
  && document.querySelector('.verdict:not([data-level=loading])')"""
# How long the longest question of each sort took that was asked since a moment, in ms.
ASKED = """since => {
  const longest = {};
  for (const one of performance.getEntriesByType('resource')) {
    const [, sort] = /api\\/(\\w+)/.exec(one.name) ?? [];
    if (sort && one.startTime >= since) longest[sort] = Math.max(longest[sort] ?? 0, one.duration);
  }
  performance.clearResourceTimings();
  return longest;
}"""


@dataclass(frozen=True, slots=True)
class Recorded:
    """The host in the store, and all of its time."""

    host: str
    begin_us: int
    end_us: int

    @property
    def hash(self) -> str:
        """The overview of all of it."""
        return f"#overview?host={self.host}&begin={self.begin_us}&end={self.end_us}"


def recorded(server: Served) -> Recorded:
    """What the server has."""
    with urllib.request.urlopen(f"{server.address}api/hosts", timeout=60) as answer:
        (host,) = json.load(answer)["hosts"]
    return Recorded(host["name"], host["begin_us"], host["end_us"])


@contextmanager
def opened(browser: Browser) -> Iterator[Page]:
    """A new page that notes what is on it."""
    context = browser.new_context(viewport=SIZE)
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.add_init_script(WATCH_PARTS)
    try:
        yield page
    finally:
        context.close()


def show(page: Page, address: str) -> dict[str, float]:
    """Seconds until each part of the overview was on the screen."""
    page.goto(address)
    page.wait_for_function("() => Object.keys(window.parts).length === 4")
    parts: dict[str, float] = page.evaluate("window.parts")
    return {name: milliseconds / 1e3 for name, milliseconds in parts.items()}


def measure_first(store: Path, browser: Browser, hash: str, *, is_read_ahead: bool) -> None:
    """From the address to the last pixel; the server has answered nothing before."""
    when = "read ahead" if is_read_ahead else "asked at once"
    runs = []
    for _ in range(FIRST_RUNS):
        forget(store)
        with served(store) as server, opened(browser) as page:
            if is_read_ahead:
                print(f"  the newest hours were read after {seconds_until_idle(server):.1f} s")
            runs.append(show(page, f"{server.address}{hash}"))
            print(f"  {when}; its questions: {asked_since(page, 0)}")
    for run in (min, max):
        parts = run(runs, key=lambda parts: max(parts.values()))
        name = f"overview with the verdict, {when}, the {'best' if run is min else 'worst'} run"
        report(name, max(parts.values()), "limit", OVERVIEW_LIMIT_SECONDS)
        print("  " + ", ".join(f"{part} after {seconds:.3f} s" for part, seconds in sorted(parts.items())))


def seconds_until_idle(server: Served) -> float:
    """Wait until a server that nobody asks has nothing more to do."""
    began, used, since = time.monotonic(), -1, time.monotonic()
    while time.monotonic() - since < IDLE_SECONDS:
        fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
        now = int(fields[11]) + int(fields[12])
        if now > used + 2:  # ticks; that it wakes up now and then is no work
            used, since = now, time.monotonic()
        time.sleep(0.1)
    return since - began


def measure_moves(page: Page) -> None:
    """Pans and zooms, each after the one before has come to rest."""
    ways = {"pan": ("ArrowLeft", "ArrowRight"), "zoom": ("+", "-")}
    for _ in range(4):  # into the hours, so that there is something to pan to
        page.evaluate(PRESS, "+")
    page.wait_for_function(AT_REST)
    for what, keys in ways.items():
        since = page.evaluate("performance.now()")
        times = []
        for number in range(MOVES):
            times.append(page.evaluate(PRESS, keys[number // 5 % len(keys)]) / 1e3)
            page.wait_for_function(AT_REST)
        report(f"{what}, the worst of {MOVES}", max(times), "limit", MOVE_LIMIT_SECONDS)
        print(f"  the longest questions, for which the picture does not wait: {asked_since(page, since)}")


def asked_since(page: Page, since: float) -> str:
    """How long the questions took that were asked since a moment."""
    longest: dict[str, float] = page.evaluate(ASKED, since)
    return ", ".join(f"{sort} {milliseconds:.0f} ms" for sort, milliseconds in sorted(longest.items()))


def measure_fast_moves(page: Page) -> None:
    """Many moves without a pause, as a wheel makes them."""
    times = [page.evaluate(PRESS, key) / 1e3 for key in ("ArrowLeft", "ArrowRight") for _ in range(MOVES)]
    report(f"pan without a pause, the worst of {len(times)}", max(times), "limit", MOVE_LIMIT_SECONDS)
    page.wait_for_function(AT_REST)


def measure_questions(server: Served, where: Recorded) -> None:
    """The answers of the whole range, warm, without a browser."""
    query = f"host={where.host}&begin_us={where.begin_us}&end_us={where.end_us}"
    for name, more in (("cores", "&columns=1200"), ("events", ""), ("zombies", "&columns=600")):
        began = time.perf_counter()
        with urllib.request.urlopen(f"{server.address}api/{name}?{query}{more}", timeout=60) as answer:
            size = len(answer.read())
        print(f"  /api/{name}, warm: {(time.perf_counter() - began) * 1e3:.0f} ms, {size / 1e3:.0f} kB")


def measure_memory(page: Page, browser: Browser, server: Served) -> None:
    """What the tab and the server take after all that."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    rows: list[dict[str, Any]] = session.send("Performance.getMetrics")["metrics"]
    heap = next(row["value"] for row in rows if row["name"] == "JSHeapUsedSize")
    processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    tab = max(_memory(one["id"], "VmRSS") for one in processes if one["type"] == "renderer")
    print(f"memory of the tab: {tab:.0f} MiB, of it {heap / 2**20:.1f} MiB JavaScript")
    now, most = (_memory(server.process.pid, name) for name in ("VmRSS", "VmHWM"))
    print(f"memory of the server: {now:.0f} MiB, at most {most:.0f} MiB")


def _memory(pid: int, name: str) -> float:
    """In MiB."""
    return int(Path(f"/proc/{pid}/status").read_text().partition(f"{name}:")[2].split()[0]) / 1024


def measure(store: Path) -> None:
    """Print all of it."""
    with served(store) as server:
        where = recorded(server)
    with chromium() as browser:
        measure_first(store, browser, where.hash, is_read_ahead=True)
        measure_first(store, browser, where.hash, is_read_ahead=False)
        with served(store) as server, opened(browser) as page:
            show(page, f"{server.address}{where.hash}")
            measure_moves(page)
            measure_fast_moves(page)
            measure_questions(server, where)
            measure_memory(page, browser, server)


def main() -> None:
    """Generate, and measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--hours", type=float, default=12.0)
    parser.add_argument("--cores", type=int, default=96)
    parser.add_argument("--store", type=Path, help="one that generate_days.py has written")
    arguments = parser.parse_args()
    if reason := why_not():
        print(f"not measured: {reason}")
    elif arguments.store:
        measure(arguments.store)
    else:
        with tempfile.TemporaryDirectory(prefix="necroscope-bench-") as name:
            plan = plan_of(Path(name) / "store", arguments.hours, arguments.cores, has_profiles=True)
            generate(plan)
            measure(plan.store)


if __name__ == "__main__":
    main()
