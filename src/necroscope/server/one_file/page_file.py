"""The built page and its answers as one HTML file: scripts and styles inside, no request of any kind."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from urllib.parse import urlencode

from necroscope.errors import UsageError
from necroscope.model.timestamp import iso_utc
from necroscope.model.visible_text import LINES, visible_json, visible_text
from necroscope.server.one_file.collected import Collected
from necroscope.server.questions.selection import Filters, Range, Tree

STATIC = Path(__file__).parents[1] / "static"  # where `make web` puts the page
SCRIPT = re.compile(r'<script type="module"[^>]*? src="\./([^"]+)"[^>]*></script>')
STYLE = re.compile(r'<link rel="stylesheet"[^>]*? href="\./([^"]+)"[^>]*>')
ICON = re.compile(r'(<link rel="icon"[^>]*? href=")\./([^"]+)("[^>]*>)')
NOTICE_STYLE = (
    "#one-file{margin:var(--space-3,1rem);padding:var(--space-2,.5rem) var(--space-3,1rem);font:inherit;"
    "border:1px solid var(--line,#888);border-radius:4px;color:var(--quiet-text,inherit)}"
    "#one-file ul{margin:.5em 0 0;padding-left:1.5em}"
)
Words = Iterable[tuple[str, str | int]]


@dataclass(frozen=True, slots=True)
class About:
    """What a file says of itself."""

    span: Range
    start: str  # the address that it opens with, behind the #
    made_us: int
    version: str


@dataclass(frozen=True, slots=True)
class PageFile:
    """The file, and what is not in it."""

    content: bytes
    left_out: tuple[str, ...]


def page_file(collected: Collected, about: About, folder: Path | None = None) -> PageFile:
    """The whole file. UsageError: the page is not built."""
    folder = folder or STATIC
    index = folder / "index.html"
    if not index.is_file():
        raise UsageError("the page is not built", hint="make web builds it")
    page = index.read_text()
    scripts = [_script(folder / name) for name in SCRIPT.findall(page)]
    styles = [NOTICE_STYLE, *((folder / name).read_text() for name in STYLE.findall(page))]
    page = ICON.sub(lambda found: f"{found[1]}{_data_url(folder / found[2])}{found[3]}", page)
    page = STYLE.sub("", SCRIPT.sub("", page))
    head = [_policy(scripts, styles), *(f"<style>{style}</style>" for style in styles)]
    tail = [
        _notice(collected, about),
        _embedded(collected, about),
        *(f'<script type="module">{script}</script>' for script in scripts),
    ]
    # The policy holds for what stands behind it: it comes first.
    page = page.replace("<head>", f"<head>\n{head[0]}", 1)
    page = page.replace("</head>", "\n".join([*head[1:], "</head>"]), 1)
    page = page.replace("</body>", "\n".join([*tail, "</body>"]), 1)
    return PageFile(page.encode(), tuple(collected.left_out))


def _policy(scripts: list[str], styles: list[str]) -> str:
    script_hashes, style_hashes = (" ".join(map(_hash, some)) for some in (scripts, styles))
    policy = (
        f"default-src 'none'; script-src {script_hashes}; style-src {style_hashes}; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    return f'<meta http-equiv="Content-Security-Policy" content="{policy}" />'


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _script(path: Path) -> str:
    """A script that does not end its element; in strings and expressions the backslash means nothing."""
    return path.read_text().replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _data_url(path: Path) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(path.read_bytes()).decode()}"


def _notice(collected: Collected, about: About) -> str:
    span = about.span
    ends = f"{_time(span.begin_us)} to {_time(span.end_us)}"
    items = "".join(f"<li>{_text(item)}</li>" for item in collected.left_out)
    left_out = f"<details><summary>What is not in this file</summary><ul>{items}</ul></details>"
    made = f"made at {_time(about.made_us)} by Necroscope {_text(about.version)}"
    words = f"A saved page of {_text(span.host)}, {ends}, {made}. It asks no server and no network."
    return f'<footer id="one-file"><p>{words}</p>{left_out}</footer>'


def _embedded(collected: Collected, about: About) -> str:
    content = gzip.compress(visible_json(collected.document()), 9, mtime=0)
    return (
        f'<script type="application/octet-stream" id="embedded" data-host="{_text(about.span.host)}" '
        f'data-begin="{about.span.begin_us}" data-end="{about.span.end_us}" '
        f'data-start="{_text(about.start)}">{base64.b64encode(content).decode()}</script>'
    )


def _time(time_us: int) -> str:
    return iso_utc(time_us * 1000)[:19].replace("T", " ") + "Z"


def _text(words: str) -> str:
    return escape(visible_text(words, LINES))


def address(view: str, words: Words) -> str:
    """A link to a view; what is empty or zero is left at its default."""
    return f"#{view}?{urlencode([(name, value) for name, value in words if value or name == 'cpu'])}"


def moment_address(minute: Range, chosen: Range, filters: Filters, tree: Tree) -> str:
    """A link to the samples that a flame graph is of."""
    words: list[tuple[str, str | int]] = [
        ("host", minute.host),
        ("begin", minute.begin_us),
        ("end", minute.end_us),
        ("a", f"{chosen.begin_us}..{chosen.end_us}"),
        ("b", tree.against),
        *(("cpu", cpu) for cpu in filters.cpus),
        *(("process", name) for name in filters.processes),
        *(("thread", name) for name in filters.threads),
        ("idle", int(filters.idle)),
        ("search", filters.search),
        ("regexp", int(filters.regexp)),
        ("only", int(filters.only_matching)),
        ("by", "" if tree.by == "comm" else tree.by),
        ("inverted", int(tree.inverted)),
    ]
    return address("moment", words)
