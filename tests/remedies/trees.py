"""A remedy for tests: it changes a small tree of files in several steps, without a systemd.

For the subject `real` its steps are done by the real actions; else by plain ones, which tests can replace.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from unittest.mock import patch

from necroscope.errors import UsageError
from necroscope.model.fix import State
from necroscope.model.plan import Assumption, Goal, Plan, Step, Treatment
from necroscope.remedies.actions.action import Action
from necroscope.remedies.actions.catalog import ALL_ACTIONS
from necroscope.remedies.plan.catalog import ALL_REMEDIES
from necroscope.remedies.plan.make_plan import make_plan
from necroscope.remedies.plan.remedy import Part, Remedy
from necroscope.sources.host import Host
from necroscope.store.durable import remove_partials, write_durably

REMEDY = "tend-tree"
LIMIT = "/etc/systemd/system/a.service.d/50-necroscope-limit.conf"
WANTED = "/etc/systemd/system/a.target.wants/a.service"
NEW_TEXT = "[Unit]\nStartLimitBurst=5\n"


def make_tree(root: Path) -> Path:
    """An image with what the remedy changes, and with what it must not touch."""
    (root / "etc/wants").mkdir(parents=True)
    (root / "etc/systemd/system/a.target.wants").mkdir(parents=True)
    (root / LIMIT.lstrip("/")).parent.mkdir()
    (root / LIMIT.lstrip("/")).write_text("# old\n")
    (root / LIMIT.lstrip("/")).chmod(0o640)
    (root / WANTED.lstrip("/")).symlink_to("../a.service")
    (root / "etc/hostname").write_text("image-1\n")
    (root / "etc/machine-id").write_text("0123456789abcdef0123456789abcdef\n")
    (root / "etc/limit.conf").write_text("old\n")
    (root / "etc/limit.conf").chmod(0o640)
    (root / "etc/wants/a.service").symlink_to("../a.service")
    (root / "etc/other").write_text("not ours\n")
    return root


def listing(root: Path) -> dict[str, tuple[object, ...]]:
    """All that is below a folder: kind, mode, owner, link text, content."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        content: object = b""
        if stat.S_ISLNK(status.st_mode):
            content = str(path.readlink())
        elif stat.S_ISREG(status.st_mode):
            content = path.read_bytes()
        found[str(path.relative_to(root))] = (oct(status.st_mode), status.st_uid, status.st_gid, content)
    return found


def plan_for(root: Path, subject: str = "") -> Plan:
    """The plan of the remedy."""
    return make_plan(
        Host(root), [Treatment(REMEDY, subject)], ["a test asked for it"], [Goal("zombie-growth", "")]
    )


def step(action: str, target: str, value: str) -> Step:
    """A step of the remedy."""
    return Step(action, target, value, f"{action} {target}", "a test", "", "", "put it back")


@contextmanager
def tree_remedy() -> Iterator[None]:
    """The remedy and its actions are there like all others."""
    actions = {action.id: action for action in (PUT_TEXT, PUT_LINK, DROP_LINK, BREAK)}
    steps = dict.fromkeys((*actions, "write-file", "remove-links", "make-link"), _any_step)
    remedy = Remedy(REMEDY, _plan, steps)
    with patch.dict(ALL_ACTIONS, actions), patch.dict(ALL_REMEDIES, {REMEDY: remedy}):
        yield


def _any_step(_host: Host, _subject: str, _step: Step, _before: State) -> str:
    """What the actions allow is enough here."""
    return ""


def _ours(_host: Host, _step: Step, _before: State) -> str:
    return ""


def _plan(host: Host, subject: str) -> Part:
    if subject == "gone":
        raise UsageError("there is no unit gone.service")
    text = host.read("/etc/other").value or ""
    steps = [
        step("put-text", "/etc/limit.conf", NEW_TEXT),
        step("drop-link", "/etc/wants/a.service", "../a.service"),
        step("put-link", "/etc/a.service", "/dev/null"),
        step("put-text", "/etc/new.conf", NEW_TEXT),
    ]
    if subject == "break":
        steps.insert(2, step("break", "/etc/broken", ""))
    if subject == "nothing":
        steps = []
    if subject == "real":
        steps = [
            step("write-file", LIMIT, NEW_TEXT),
            step("remove-links", "a.service", f"{WANTED} -> ../a.service"),
            step("make-link", "/etc/systemd/system/a.service", "/dev/null"),
            step("write-file", "/etc/systemd/system/b.service.d/50-necroscope-limit.conf", NEW_TEXT),
        ]
    return Part(
        steps=tuple(steps),
        assumptions=(Assumption("/etc/other", sha256(text.encode()).hexdigest()[:16]),),
        vital=("sshd.service: the way in",) if subject == "vital" else (),
        warnings=("a.socket goes too",),
        seen=("3 files",),
    )


def _place(host: Host, target: str) -> Path:
    """The file or link itself."""
    folder, _, name = target.rpartition("/")
    return host.path(folder) / name


def _look_at_text(host: Host, step: Step) -> State:
    path = _place(host, step.target)
    if not path.exists():
        return {"exists": ""}
    return {"exists": "yes", "text": path.read_text(), "mode": oct(stat.S_IMODE(path.stat().st_mode))}


def _put_text(host: Host, step: Step) -> str:
    write_durably(_place(host, step.target), step.value.encode())
    return f"{step.target} was written"


def _text_amiss(host: Host, step: Step) -> str:
    path = _place(host, step.target)
    return "" if path.exists() and path.read_text() == step.value else f"{step.target} has another text"


def _text_back(host: Host, step: Step, before: State) -> None:
    path = _place(host, step.target)
    if before["exists"]:
        write_durably(path, before["text"].encode())
        path.chmod(int(before["mode"], 8))
    else:
        path.unlink(missing_ok=True)
    remove_partials(path)  # left by a kill


def _text_not_back(host: Host, step: Step, before: State) -> str:
    return "" if dict(_look_at_text(host, step)) == dict(before) else f"{step.target} is not as it was"


def _look_at_link(host: Host, step: Step) -> State:
    path = _place(host, step.target)
    return {"link": str(path.readlink()) if path.is_symlink() else ""}


def _put_link(host: Host, step: Step) -> str:
    path = _place(host, step.target)
    if not path.is_symlink():
        path.symlink_to(step.value)
    return f"{step.target} leads to {step.value}"


def _drop_link(host: Host, step: Step) -> str:
    _place(host, step.target).unlink(missing_ok=True)
    return f"{step.target} is gone"


def _link_amiss(host: Host, step: Step) -> str:
    wanted = {"put-link": step.value, "drop-link": ""}[step.action]
    return "" if _look_at_link(host, step)["link"] == wanted else f"{step.target} is another link"


def _link_back(host: Host, step: Step, before: State) -> None:
    path = _place(host, step.target)
    path.unlink(missing_ok=True)
    if before["link"]:
        path.symlink_to(before["link"])


def _link_not_back(host: Host, step: Step, before: State) -> str:
    return "" if dict(_look_at_link(host, step)) == dict(before) else f"{step.target} is not as it was"


def _break(host: Host, step: Step) -> str:
    """Fails as long as somebody has not made it whole."""
    if not _place(host, "/etc/whole").exists():
        raise PermissionError(13, "Permission denied", step.target)
    return "it worked"


PUT_TEXT = Action("put-text", _look_at_text, _put_text, _text_amiss, _text_back, _text_not_back, _ours)
PUT_LINK = Action("put-link", _look_at_link, _put_link, _link_amiss, _link_back, _link_not_back, _ours)
DROP_LINK = Action("drop-link", _look_at_link, _drop_link, _link_amiss, _link_back, _link_not_back, _ours)
BREAK = Action(
    "break",
    lambda _host, _step: {},
    _break,
    lambda host, _step: "" if _place(host, "/etc/whole").exists() else "it is broken",
    lambda _host, _step, _before: None,
    lambda _host, _step, _before: "",
    _ours,
)
