"""The attack: another folder, or another kind of file, in the place of the records of fixes.

A store may belong to a service account, and lie in a folder of somebody else's. Whoever owns a folder can
rename what is in it, whoever that belongs to, and lay links and pipes.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from necroscope.cli.main import main
from necroscope.errors import RefusedError, StoreError, UsageError
from necroscope.model.fix import FixState
from necroscope.model.plan import Plan, Treatment
from necroscope.remedies.apply import lock
from necroscope.remedies.apply.apply import apply
from necroscope.remedies.apply.fixes import read_fixes
from necroscope.remedies.apply.fixes_folder import fixes_folder
from necroscope.remedies.apply.site import Site
from necroscope.remedies.apply.undo import undo
from necroscope.remedies.plan.make_plan import make_plan
from necroscope.sources.host import Host
from tests.remedies.trees import listing
from tests.security.forged_records import (
    CONDITION,
    ID,
    NOTHING,
    OFF,
    UNIT,
    WAYS,
    before_of,
    forge,
    in_time,
    make_image,
    step,
    words,
)
from tests.unprivileged import NOBODY

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, who is attacked")


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(Host(make_image(tmp_path / "image")), tmp_path / "store")


def plan_of(site: Site) -> Plan:
    return make_plan(site.host, [Treatment("disable-unit", UNIT)], (), ())


@as_root
def test_a_store_of_the_service_account_has_no_say(site: Site) -> None:
    """The DaemonSet gives the store to its uid. What that writes into it is no record."""
    for path in (site.store, site.store / ".fixes"):
        path.mkdir(mode=0o700)
    wanted = step("write-file", "/etc/passwd", "the owner's\n")
    forge(site, [wanted], [before_of("4755")], folder=site.store / ".fixes")
    for path in (site.store, *site.store.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    before = listing(site.host.root)
    with pytest.raises(UsageError, match=f"there is no fix '{ID}'"):
        undo(ID, site)
    assert listing(site.host.root) == before
    undo(apply(plan_of(site), site).id, site)
    status = fixes_folder(site.store).stat()
    assert (status.st_uid, stat.S_IMODE(status.st_mode)) == (0, 0o700)
    assert listing(site.host.root) == before


@as_root
def test_records_of_somebody_else_are_not_acted_on(site: Site) -> None:
    """In a folder like /tmp, everybody can make the folder before root does."""
    site.store.parent.chmod(0o1777)
    forge(site, [step("write-file", OFF, CONDITION)], [before_of()])
    os.chown(fixes_folder(site.store), NOBODY, NOBODY)
    with pytest.raises(StoreError, match=f"{fixes_folder(site.store)} belongs to nobody"):
        undo(ID, site)
    os.chown(fixes_folder(site.store), 0, 0)
    os.chown(fixes_folder(site.store) / ID, NOBODY, NOBODY)
    with pytest.raises(StoreError, match=f"{ID}: belongs to uid {NOBODY}"):
        undo(ID, site)


@pytest.mark.parametrize("how", WAYS)
def test_a_link_in_the_place_of_the_records_is_not_followed(site: Site, tmp_path: Path, how: str) -> None:
    forge(site, [step("write-file", OFF, CONDITION)], [NOTHING], how=how, folder=tmp_path / "planted")
    site.store.mkdir()
    fixes_folder(site.store).symlink_to(tmp_path / "planted")
    for work in (lambda: WAYS[how](ID, site), lambda: read_fixes(site.store)):
        with pytest.raises(StoreError, match="is a link, not a folder"):
            work()
    assert not (tmp_path / "planted/lock").exists() and not (tmp_path / "planted/log.jsonl").exists()


@pytest.mark.parametrize("how", WAYS)
def test_a_link_in_the_place_of_one_record_is_not_followed(site: Site, tmp_path: Path, how: str) -> None:
    forge(site, [step("write-file", OFF, CONDITION)], [NOTHING], how=how, folder=tmp_path / "planted")
    fixes_folder(site.store).mkdir(mode=0o700, parents=True)
    (fixes_folder(site.store) / ID).symlink_to(tmp_path / "planted" / ID)
    with pytest.raises(UsageError, match="there is no fix"):
        WAYS[how](ID, site)


@pytest.mark.parametrize("mode", [0o777, 0o733, 0o757])
def test_a_folder_above_that_all_may_write_to_is_refused(site: Site, tmp_path: Path, mode: int) -> None:
    above = tmp_path / "above"
    above.mkdir()
    site = Site(site.host, above / "store")
    id = forge(site, [step("write-file", OFF, CONDITION)], [NOTHING])
    above.chmod(mode)
    works: list[Callable[[], object]] = [
        lambda: undo(id, site),
        lambda: apply(plan_of(site), site),
        lambda: read_fixes(site.store),
    ]
    for work in works:
        with pytest.raises(StoreError, match=rf"others may write to {above} \(mode {mode:04o}\)") as caught:
            work()
        assert "--store" in caught.value.hint and "chmod" in caught.value.hint
    above.chmod(mode | stat.S_ISVTX)  # as /tmp is
    undo(id, site)


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o711])
def test_records_that_others_may_enter_are_refused(site: Site, mode: int) -> None:
    id = forge(site, [step("write-file", OFF, CONDITION)], [NOTHING])
    fixes_folder(site.store).chmod(mode)
    with pytest.raises(StoreError, match=rf"\(mode {mode:04o}\)") as caught:
        undo(id, site)
    assert "chmod 0700" in caught.value.hint


@as_root
def test_what_the_service_owns_in_run_holds_up_no_fix(site: Site) -> None:
    """systemd gives the service's user a folder there; the lock of fixes is in another."""
    service = lock.RUN / "necroscope"
    service.mkdir(exist_ok=True)
    os.chown(service, NOBODY, NOBODY)
    assert apply(plan_of(site), site).state is FixState.APPLIED


@pytest.mark.parametrize("planted", ["link", "all may enter"])
def test_the_lock_of_the_machine_is_not_made_where_others_want(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted: str
) -> None:
    for name in ("run", "elsewhere"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(lock, "RUN", tmp_path / "run")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    if planted == "link":
        (tmp_path / "run" / lock.FOLDER).symlink_to(tmp_path / "elsewhere")
    else:
        (tmp_path / "run" / lock.FOLDER).mkdir(mode=0o777)
    with pytest.raises(StoreError):
        apply(plan_of(site), site)
    assert not list((tmp_path / "elsewhere").iterdir())


# What lies among the records.


def test_the_log_is_not_written_through_a_link(site: Site, tmp_path: Path) -> None:
    """A line of the log names what an attacker chooses, and could be run from root's shell profile."""
    victim = tmp_path / ".bashrc"
    victim.write_text("# root's\n")
    fixes_folder(site.store).mkdir(mode=0o700, parents=True)
    (fixes_folder(site.store) / "log.jsonl").symlink_to(victim)
    before = listing(site.host.root)
    with pytest.raises(StoreError, match=r"log\.jsonl"):
        apply(plan_of(site), site)
    with pytest.raises(RefusedError):
        apply(replace(plan_of(site), steps=()), site)  # a refusal, which is logged too
    assert victim.read_text() == "# root's\n" and listing(site.host.root) == before


@pytest.mark.parametrize("name", ["journal", "plan.json", "verdict.json"])
@pytest.mark.parametrize("kind", ["pipe", "link", "giant", "device"])
def test_what_is_no_small_file_is_not_read(site: Site, tmp_path: Path, name: str, kind: str) -> None:
    """A pipe would hold us up for ever, and a sparse file fill the memory."""
    id = forge(site, [step("write-file", OFF, CONDITION)], [NOTHING])
    path = fixes_folder(site.store) / id / name
    if path.exists():
        path.rename(tmp_path / name)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to(tmp_path / name)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.touch()
        os.truncate(path, 128 << 20)
    before = listing(site.host.root)
    with in_time():
        if name == "verdict.json":
            assert main(["report", "--store", str(site.store), "--fix", id]) in (2, 3)
            assert main(["verify", id, "--store", str(site.store)]) in (2, 3)
        else:
            for work in WAYS.values():
                with pytest.raises(StoreError, match=name):
                    work(id, site)
            (damaged,) = read_fixes(site.store).damaged
            assert name in damaged.error.what
            assert main(words(site, "--list")) == 0
    assert listing(site.host.root) == before


@pytest.mark.parametrize("name", ["log.jsonl", "lock"])
def test_a_pipe_in_the_place_of_a_file_holds_up_nobody(site: Site, name: str) -> None:
    fixes_folder(site.store).mkdir(mode=0o700, parents=True)
    os.mkfifo(fixes_folder(site.store) / name)
    before = listing(site.host.root)
    with in_time():
        with pytest.raises(StoreError):
            apply(plan_of(site), site)
        assert main(words(site, "--list")) == 0
    assert listing(site.host.root) == before
