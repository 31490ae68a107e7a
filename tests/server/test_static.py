from __future__ import annotations

from pathlib import Path

import pytest

from tests.server.asgi_client import HOST, app_with, ask


@pytest.fixture
def built(tmp_path: Path) -> Path:
    folder = tmp_path / "static"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>page</title>")
    (folder / "assets/index-BxG3f9aZ.js").write_text("1;")
    (folder / "assets/style-a_Z-09bQ.css").write_text("a{}")
    (tmp_path / "secret").write_text("secret")
    return folder


def test_the_page(built: Path) -> None:
    told = ask(app_with(static=built), "/")
    assert (told.status, told.header("cache-control")) == (200, "no-cache")
    assert told.header("content-type").startswith("text/html")
    assert b"<title>page</title>" in told.body


@pytest.mark.parametrize(
    ("name", "kind"), [("index-BxG3f9aZ.js", "text/javascript"), ("style-a_Z-09bQ.css", "text/css")]
)
def test_hashed_files_are_kept_for_ever(built: Path, name: str, kind: str) -> None:
    told = ask(app_with(static=built), f"/assets/{name}")
    assert told.status == 200 and "immutable" in told.header("cache-control")
    assert told.header("content-type").startswith(kind)


def test_what_the_browser_has_is_not_sent_again(built: Path) -> None:
    app = app_with(static=built)
    tag = ask(app, "/").header("etag")
    for known in (tag, f"W/{tag}", f'"other", {tag}'):
        told = ask(app, "/", [HOST, ("If-None-Match", known)])
        assert (told.status, told.body) == (304, b"")
    assert ask(app, "/", [HOST, ("If-None-Match", '"other"')]).status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/../secret",
        "/%2e%2e/secret",
        "/..%2fsecret",
        "/assets/../../secret",
        "//etc/passwd",
        "/etc/passwd",
        "/assets",
        "/assets/",
        "/index.html/",
        "/overview",
        "/%00",
        "/secret",
        "/assets/..%5c..%5csecret",
        "/." * 100,
    ],
)
def test_nothing_else_is_there(built: Path, path: str) -> None:
    told = ask(app_with(static=built), path)
    assert told.status == 404
    assert b"secret" not in told.body


def test_a_page_that_is_not_built_says_so() -> None:
    told = ask(app_with(), "/")
    assert told.status == 503 and b"make web" in told.body
