"""Symbols count as readable if any has an address, and those of a boot outlive it."""

from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.profiles.kallsyms import BOOT_ID, kallsyms_of, running_kallsyms, save_kallsyms
from necroscope.sources.host import Host

ZEROS = "0000000000000000 A fixed_percpu_data\n0000000000000000 A __per_cpu_start\n"
NAMED = "ffffffff81000000 T _text\n"


@pytest.mark.parametrize(
    ("text", "is_readable"),
    [
        (ZEROS + NAMED, True),  # older kernels for x86-64: per-CPU variables begin at 0, and come first
        (NAMED, True),
        (ZEROS, False),  # kptr_restrict
        ("", False),
        ("not an address T _text\n", False),
        ("\n", False),
    ],
)
def test_symbols_are_readable_if_any_has_an_address(tmp_path: Path, text: str, is_readable: bool) -> None:
    path = tmp_path / "kallsyms"
    path.write_text(text)
    assert running_kallsyms(path) == (path if is_readable else None)


def test_no_symbols_at_all_are_not_readable(tmp_path: Path) -> None:
    assert running_kallsyms(tmp_path / "absent") is None


@pytest.mark.skipif(running_kallsyms() is None, reason="the kernel's symbols have no addresses for us here")
def test_those_of_this_boot_are_saved_once_and_others_go(tmp_path: Path) -> None:
    boot = Host().word(BOOT_ID)
    for other in ("a-boot-with-segments", "a-boot-without"):
        (tmp_path / ".kallsyms").mkdir(exist_ok=True)
        (tmp_path / ".kallsyms" / other).write_text(NAMED)
    save_kallsyms(tmp_path, boot, {"a-boot-with-segments"})
    assert {path.name for path in (tmp_path / ".kallsyms").iterdir()} == {boot, "a-boot-with-segments"}
    assert kallsyms_of(tmp_path, "a-boot-with-segments") == tmp_path / ".kallsyms/a-boot-with-segments"
    assert kallsyms_of(tmp_path, "a-boot-without") is None
    assert kallsyms_of(tmp_path, boot) == running_kallsyms()
