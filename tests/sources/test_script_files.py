from __future__ import annotations

import shlex

import pytest

from necroscope.sources.script_files import files_written_by, files_written_in

CONFIG = "/etc/ecs/ecs.config"


@pytest.mark.parametrize(
    "script",
    [
        f"echo x >{CONFIG}",
        f"echo x >>{CONFIG} 2>/dev/null",
        f'echo x > "{CONFIG}"; true',
        f"cat <<EOF >{CONFIG}\nA=1\nEOF",
        f"cat >{CONFIG} <<EOF",
        f"render | sudo tee -a {CONFIG} >/dev/null",
        f"cp /opt/ecs.config {CONFIG} || exit 1",
        "cp -f /opt/ecs.config /etc/ecs/",
        "mv ecs.config /etc/ecs",
        "cp -t /etc/ecs /opt/ecs.config",
        "install --target-directory=/etc/ecs ecs.config",
        f"install -m 0644 -o root \\\n  x '{CONFIG}'",
        f"if true; then ln -sf /opt/ecs.config {CONFIG}; fi",
        f"umask 077 && touch {CONFIG}",
        f"A=1 touch /x {CONFIG}",
        f"install -d {CONFIG}",
        f"mkdir -p {CONFIG}/",
        f"curl -s https://x/y -o {CONFIG}",
        f"wget -O {CONFIG} https://x/y",
        f"make-config --output={CONFIG}",
        f"dd if=/dev/zero of={CONFIG} bs=1",
    ],
)
def test_what_is_written(script: str) -> None:
    assert CONFIG in files_written_in(script)


@pytest.mark.parametrize(
    "script",
    [
        f"foo-init --config {CONFIG}",
        f"[ -e {CONFIG} ] || exit 1",
        f"grep -q x <{CONFIG} >/dev/null",
        f"cp {CONFIG} /var/backup",
        f"cp {CONFIG} $TARGET",
        f"ln -s {CONFIG}",
        f"# echo x >{CONFIG}",
        f"true  # then touch {CONFIG}",
        f"echo A->{CONFIG}",
        f"mkdir -p /etc/ecs && foo {CONFIG}",
        f"test -e /x -o -e {CONFIG}",
        f"rm -f {CONFIG}",
        f"touch /x; cat {CONFIG}",
        f"cat <<EOF\n{CONFIG}\nEOF",
    ],
)
def test_what_is_only_named(script: str) -> None:
    assert CONFIG not in files_written_in(script)


def test_a_command_that_no_shell_looks_at_redirects_nothing() -> None:
    assert files_written_by(["/usr/bin/install", "-m", "644", "x", CONFIG]) >= {CONFIG}
    assert files_written_by(["/bin/echo", "x", ">", CONFIG]) == set()
    assert files_written_by(["/bin/echo", f"x >{CONFIG}"]) == set()
    assert files_written_by(shlex.split("A=1")) == files_written_by([]) == set()
