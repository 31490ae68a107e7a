from __future__ import annotations

import base64
import hashlib
import random
import re
from pathlib import Path

import pytest

from necroscope.errors import UsageError
from necroscope.server.one_file.collected import Collected
from necroscope.server.one_file.page_file import About, page_file
from necroscope.server.questions.recorded_store import Damaged
from necroscope.server.questions.selection import Range
from tests.server.one_file.built_page import built_page, embedded

HOSTILE = '"><script>alert(1)</script>\u202e'


def make(tmp_path: Path, host: str = "web-1") -> str:
    collected = Collected(left_out=["some <b>events</b>"])
    collected.ask('["hosts"]', lambda: Damaged("</script>\u202e", "hint"))
    about = About(Range(host, 10**15, 10**15 + 10**9), f"#overview?host={host}", 10**15, "0.1.0")
    return page_file(collected, about, built_page(tmp_path / "static")).content.decode()


def test_nothing_is_requested(tmp_path: Path) -> None:
    page = make(tmp_path)
    assert not re.findall(r'(?:src|href)="(?!data:)', page)
    assert "data:image/svg+xml;base64," in page and "body { color: red }" in page


def test_the_policy_names_exactly_what_is_in_the_file(tmp_path: Path) -> None:
    page = make(tmp_path)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy and page.index("Content-Security-Policy") < page.index("<style>")
    assert "default-src 'none'" in policy[1] and "unsafe" not in policy[1]
    inline = re.findall(r"<style>(.*?)</style>", page, re.S)
    inline += re.findall(r'<script type="module">(.*?)</script>', page, re.S)
    assert len(inline) == 3
    for text in inline:
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy[1]


def test_a_script_cannot_end_its_element(tmp_path: Path) -> None:
    page = make(tmp_path)
    (script,) = re.findall(r'<script type="module">(.*?)</script>', page, re.S)
    assert script == 'document.title = "<\\/script><\\!-- $1 \\\\1";\n'
    assert page.index('id="embedded"') < page.index('<script type="module">')


def test_it_says_what_it_is_and_what_is_not_in_it(tmp_path: Path) -> None:
    page = make(tmp_path)
    assert "A saved page of web-1, 2001-09-09 01:46:40Z to 2001-09-09 02:03:20Z" in page
    assert "<li>some &lt;b&gt;events&lt;/b&gt;</li>" in page
    assert 'data-start="#overview?host=web-1"' in page


def test_names_from_recordings_stay_text(tmp_path: Path) -> None:
    page = make(tmp_path, HOSTILE)
    assert "<script>alert" not in page and "\u202e" not in page
    assert embedded(page.encode())['["hosts"]']["what"] == "</script>\\u202e"


def test_a_page_that_is_not_built_is_an_error(tmp_path: Path) -> None:
    about = About(Range("h", 1, 2), "", 0, "")
    with pytest.raises(UsageError, match="not built"):
        page_file(Collected(), about, tmp_path)


def test_a_full_file_has_less_than_15_megabytes(tmp_path: Path) -> None:
    noise = random.Random(1)
    collected = Collected()
    for number in range(40):
        collected.ask(f"[{number}]", lambda: Damaged(base64.b64encode(noise.randbytes(400_000)).decode(), ""))
    assert not collected.holds("[39]"), "there was no room for all of them"
    about = About(Range("h", 1, 2), "", 0, "")
    content = page_file(collected, about, built_page(tmp_path / "static")).content
    assert 13_000_000 < len(content) < 14_500_000
