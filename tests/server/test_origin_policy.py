from __future__ import annotations

import pytest

from necroscope.server.origin_policy import names_of
from tests.server.asgi_client import HOST, app_with, ask


@pytest.mark.parametrize("host", ["127.0.0.1:8420", "localhost:8420", "LOCALHOST:8420", "[::1]:8420"])
def test_our_names_are_let_in(host: str) -> None:
    assert ask(app_with(), headers=[("Host", host)]).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:8420",
        "127.0.0.1",
        "127.0.0.1:80",
        "localhost",
        "localhost:8421",
        "",
        "127.0.0.1:8420.evil",
        "localhost:8420@evil",
        "evil@localhost:8420",
        "127.0.0.1:8420, evil",
        "0.0.0.0:8420",
        "localhost.:8420",
    ],
)
@pytest.mark.parametrize("target", ["/", "/api/ping", "/assets/x.js"])
def test_foreign_hosts_are_refused(host: str, target: str) -> None:
    told = ask(app_with(), target, [("Host", host)])
    assert (told.status, told.error["slug"]) == (403, "foreign-request")
    assert "8420" in told.error["what"] and "8420" in told.error["hint"]


@pytest.mark.parametrize("headers", [[], [HOST, HOST], [HOST, ("Host", "evil")]])
def test_one_host_is_needed(headers: list[tuple[str, str]]) -> None:
    assert ask(app_with(), headers=headers).status == 400


def test_names_can_be_added() -> None:
    names = names_of(8420, ["Necro.example", "other.example:1234"], loopback=True, is_behind_proxy=False)
    app = app_with(names=names)
    for host, status in [
        ("necro.example:8420", 200),
        ("necro.example", 403),
        ("other.example:1234", 200),
        ("other.example:8420", 403),
    ]:
        assert ask(app, headers=[("Host", host)]).status == status, host


def test_behind_a_proxy_names_have_the_port_of_the_proxy() -> None:
    app = app_with(names=names_of(8420, ["necro.example"], loopback=True, is_behind_proxy=True))
    forwarded = ("X-Forwarded-For", "10.0.0.9")
    for host in ("necro.example", "necro.example:443"):
        origin = ("Origin", f"https://{host}")
        assert ask(app, headers=[("Host", host), origin, forwarded]).status == 200


def test_listening_everywhere_the_address_of_the_connection_is_a_name() -> None:
    app = app_with(names=names_of(8420, ["0.0.0.0"], loopback=False, is_behind_proxy=False))
    assert ask(app, headers=[("Host", "10.0.0.7:8420")], server=("10.0.0.7", 8420)).status == 200
    assert ask(app, headers=[("Host", "10.0.0.8:8420")], server=("10.0.0.7", 8420)).status == 403
    assert ask(app, headers=[("Host", "[fe80::1]:8420")], server=("fe80::1", 8420)).status == 200


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "",
        "https://127.0.0.1:8420",
        "http://127.0.0.1:8421",
        "http://localhost:8420",
        "http://127.0.0.1:8420.evil",
        "http://127.0.0.1:8420/x",
        "http://[",
        "http://a@127.0.0.1:8420",
    ],
)
def test_foreign_origins_are_refused(origin: str) -> None:
    assert ask(app_with(), headers=[HOST, ("Origin", origin)]).status == 403


def test_our_origin_is_let_in() -> None:
    assert ask(app_with(), headers=[HOST, ("Origin", "http://127.0.0.1:8420")]).status == 200


def test_two_origins_are_refused() -> None:
    ours = ("Origin", "http://127.0.0.1:8420")
    assert ask(app_with(), headers=[HOST, ours, ours]).status == 400


@pytest.mark.parametrize(
    ("site", "status"), [("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)]
)
def test_pages_of_other_sites_ask_nothing(site: str, status: int) -> None:
    assert ask(app_with(), headers=[HOST, ("Sec-Fetch-Site", site)]).status == status


def test_a_link_of_another_site_may_lead_to_the_page() -> None:
    assert ask(app_with(), "/", [HOST, ("Sec-Fetch-Site", "cross-site")]).status != 403


def test_a_proxy_that_nobody_told_of_is_refused() -> None:
    told = ask(app_with(), headers=[HOST, ("X-Forwarded-For", "10.0.0.9")])
    assert told.status == 403 and "--behind-proxy" in told.error["what"]


@pytest.mark.parametrize(
    ("target", "headers"),
    [("/", [HOST]), ("/api/ping", [HOST]), ("/api/nothing", [HOST]), ("/", [("Host", "x")])],
)
def test_every_answer_has_the_headers(target: str, headers: list[tuple[str, str]]) -> None:
    told = ask(app_with(), target, headers)
    policy = told.header("content-security-policy").split("; ")
    assert {"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"} <= set(
        policy
    )
    assert "unsafe" not in str(policy)
    assert told.header("x-content-type-options") == "nosniff"
    assert told.header("referrer-policy") == "no-referrer"
    assert told.header("cross-origin-opener-policy") == "same-origin"
    assert told.header("cross-origin-resource-policy") == "same-origin"
    assert "camera=()" in told.header("permissions-policy")


def test_answers_are_not_kept() -> None:
    assert ask(app_with()).header("cache-control") == "no-store"
