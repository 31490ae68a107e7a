"""The attack: an unprivileged user, for real, beside the records of fixes: who owns the folder above them,
who wants to read them, and who works on an image of their own, which must go on to work.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from necroscope.cli.main import main
from necroscope.errors import StoreError
from necroscope.model.plan import Treatment
from necroscope.remedies.apply.apply import apply, continue_fix
from necroscope.remedies.apply.fixes import read_fixes
from necroscope.remedies.apply.fixes_folder import fixes_folder
from necroscope.remedies.apply.site import Site
from necroscope.remedies.apply.undo import undo
from necroscope.remedies.plan.make_plan import make_plan
from necroscope.sources.host import Host
from tests.remedies.trees import listing
from tests.security.forged_records import (
    CONDITION,
    ETC,
    ID,
    NOTHING,
    OFF,
    UNIT,
    before_of,
    forge,
    make_image,
    step,
    words,
)
from tests.unprivileged import NOBODY, as_nobody, folder_of_nobody, needs_setpriv

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, who is attacked")


@as_root
@needs_setpriv
def test_the_owner_of_the_folder_above_cannot_replace_the_records(tmp_path: Path) -> None:
    """A folder of root's inside one of somebody else's: that one can rename it, and make another."""
    with folder_of_nobody() as theirs:
        image = make_image(tmp_path / "image")
        site = Site(Host(image), theirs / "store")
        site.store.mkdir()
        os.chown(site.store, NOBODY, NOBODY)
        fixes_folder(site.store).mkdir(mode=0o700, parents=True)
        forge(site, [step("make-link", f"{ETC}/{UNIT}", "/dev/null")], [{"folders made": ""}])
        script = 'mv "$1" "$1-old"; mkdir -m 700 "$1"; ls "$1"'
        swap = [*as_nobody(), "sh", "-c", script, "sh", str(fixes_folder(site.store))]
        assert subprocess.run(swap, check=False).returncode == 0
        forge(site, [step("write-file", "/etc/passwd", "the owner's\n")], [before_of("4755")])
        before = listing(image)
        plan = make_plan(site.host, [Treatment("disable-unit", UNIT)], (), ())
        works: list[Callable[[], object]] = [
            lambda: undo(ID, site),
            lambda: continue_fix(ID, site),
            lambda: apply(plan, site),
            lambda: read_fixes(site.store),
        ]
        for work in works:
            with pytest.raises(StoreError, match=f"{theirs} belongs to nobody") as caught:
                work()
            assert "--store" in caught.value.hint
        assert listing(image) == before
        assert main(words(site, "--undo", ID)) == 2


@needs_setpriv
@as_root
def test_others_cannot_read_the_records_of_root() -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        site = Site(Host(make_image(folder / "image")), folder / "store")
        forge(site, [step("write-file", OFF, CONDITION)], [NOTHING])
        command = [*as_nobody(), sys.executable, "-m", "necroscope", *words(site, "--list")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 3, done.stderr
        assert f"not permitted to read {fixes_folder(site.store)}" in done.stderr


@needs_setpriv
def test_without_root_one_s_own_image_is_changed_and_taken_back() -> None:
    with folder_of_nobody() as theirs:
        own = make_image(theirs / "image")
        if os.geteuid() == 0:
            subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", str(own)], check=True)
        before = listing(own)
        place = ["--root", str(own), "--store", str(theirs / "store")]
        program = [*as_nobody(), sys.executable, "-m", "necroscope", "fix", "--json"]

        def fix(*more: str) -> dict[str, dict[str, str]]:
            done = subprocess.run([*program, *place, *more], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr + done.stdout
            document: dict[str, dict[str, str]] = json.loads(done.stdout)
            return document

        id = fix("disable-unit", UNIT, "--apply")["fix"]["id"]
        assert listing(own) != before
        assert fix("--undo", id)["fix"]["state"] == "undone"
        assert listing(own) == before


@as_root
def test_root_does_not_write_into_an_image_that_another_user_can_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its owner could put a link out of the image where root is about to write."""
    image = make_image(tmp_path / "image")
    subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", str(image)], check=True)
    before = listing(image)
    place = ["--root", str(image), "--store", str(tmp_path / "store")]
    assert main(["fix", *place, "disable-unit", UNIT, "--apply"]) == 2
    assert "belongs to nobody" in capsys.readouterr().err
    assert listing(image) == before
