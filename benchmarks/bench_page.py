"""The page's pictures in headless Chromium, against the libraries that FlameScope draws with.

    python benchmarks/bench_page.py

Targets: a flame graph of 276,221 frames drawn in 150 ms and zoomed in 50 ms; a heatmap of an hour with
50 rows a second in 20 ms. Times are from the server's answer to the picture on the screen.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.timing import report

if TYPE_CHECKING:
    from playwright.sync_api import Page

HERE = Path(__file__).parent
WEB = HERE.parent / "web"
PEERS = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "necroscope" / "page-peers"
FRAMES = 276_221
HOUR_SECONDS = 3_600
REPEATS = 5  # of ours; the peers take seconds, and one run tells enough
DRAW_LIMIT, ZOOM_LIMIT, HEATMAP_LIMIT = 0.150, 0.050, 0.020
PEER_TIMEOUT_MS = 180_000


def missing() -> str:
    """What it takes to measure and is not there; empty if all is."""
    programs = [name for name in ("chromium", "npm") if not shutil.which(name)]
    if not (WEB / "node_modules" / ".bin" / "vite").exists():
        programs.append("the page's packages (make web)")
    return ", ".join(programs)


def install_peers() -> None:
    """The peers in the user's cache, as locked."""
    lock = (HERE / "web" / "package-lock.json").read_text()
    PEERS.mkdir(parents=True, exist_ok=True)
    mark = PEERS / "installed"
    if mark.exists() and mark.read_text() == lock:
        return
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(HERE / "web" / name, PEERS / name)
    command = ["npm", "ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund"]
    subprocess.run(command, cwd=PEERS, check=True, capture_output=True)
    mark.write_text(lock)


def build(folder: Path) -> None:
    """One page with ours and the peers."""
    vite = WEB / "node_modules" / ".bin" / "vite"
    config = HERE / "web" / "vite.config.js"
    command: list[Path | str] = [vite, "build", "--config", config, "--outDir", folder, "--logLevel", "error"]
    peers = {"PEERS": str(PEERS / "node_modules")}
    subprocess.run(command, cwd=WEB, check=True, env=os.environ | peers)


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are no news."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Module scripts are not loaded from disk, so a server of our own hands them out."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def browser_page(address: str) -> Iterator[Page]:
    """A built page in Debian's Chromium, with a browser of its own."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        try:
            page = browser.new_page(viewport={"width": 1640, "height": 900})
            page.set_default_timeout(PEER_TIMEOUT_MS)
            page.goto(address)
            page.wait_for_function("() => window.ourFlame || window.peerFlame")
            yield page
        finally:
            browser.close()


def best(measure: Callable[[], dict[str, float]]) -> dict[str, float]:
    """The shortest of each time over some runs, in seconds."""
    runs = [measure() for _ in range(REPEATS)]
    return {name: min(run[name] for run in runs) / 1e3 for name in runs[0]}


def measure_ours(page: Page) -> dict[str, float]:
    """Seconds by what was measured."""
    flame = best(lambda: page.evaluate("nodes => ourFlame(nodes)", FRAMES))
    heatmap = best(lambda: {"draw": page.evaluate("seconds => ourHeatmap(seconds)", HOUR_SECONDS)})
    return {"draw": flame["draw"], "zoom": flame["zoom"], "heatmap": heatmap["draw"]}


def measure_peers(page: Page) -> dict[str, float]:
    """The same of the peers, once each."""
    flame = page.evaluate("nodes => peerFlame(nodes)", FRAMES)
    heatmap = page.evaluate("seconds => peerHeatmap(seconds)", HOUR_SECONDS)
    return {"draw": flame["draw"] / 1e3, "zoom": flame["zoom"] / 1e3, "heatmap": heatmap / 1e3}


def print_all(ours: dict[str, float], peers: dict[str, float]) -> None:
    """Ours against the limits; the peers against ours, since their ratio is the readable one."""
    rows = (
        ("draw", f"flame graph of {FRAMES:,} frames, draw", DRAW_LIMIT, "d3-flame-graph 5.0.0"),
        ("zoom", f"flame graph of {FRAMES:,} frames, zoom", ZOOM_LIMIT, "d3-flame-graph 5.0.0"),
        ("heatmap", "heatmap of an hour, 50 rows a second", HEATMAP_LIMIT, "d3-heatmap2 1.1.1"),
    )
    for name, what, limit, peer in rows:
        report(what, ours[name], "limit", limit)
        report(f"{what}, {peer}", peers[name], "ours", ours[name])


def main() -> None:
    """Build, and measure one after the other."""
    if lacking := missing():
        print(f"not measured: needs {lacking}")
        return
    install_peers()
    with tempfile.TemporaryDirectory(prefix="necroscope-bench-") as name:
        build(Path(name))
        with served(Path(name)) as address:
            with browser_page(f"{address}/ours.html") as page:
                ours = measure_ours(page)
            with browser_page(f"{address}/peers.html") as page:
                peers = measure_peers(page)
    print_all(ours, peers)


if __name__ == "__main__":
    main()
