"""Names on disk, made and removed to stay."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from necroscope.errors import ChangeError
from necroscope.remedies.actions.systemd import reload_systemd
from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_tree import is_searched
from necroscope.store.durable import sync_folder
from necroscope.store.trusted_folder import open_trusted, refuse_untrusted


def place_of(host: Host, name: str) -> Path:
    """Return where a file is for us: links on the way are followed inside the root, and itself is not.

    As root, raise UntrustedFolderError if another user could lead us out of an image. Raises OSError.
    """
    folder, _, base = name.rpartition("/")
    if not name.startswith("/") or base in ("", ".", "..") or ".." in folder.split("/"):
        raise OSError(errno.EINVAL, "not the whole name of a file", name)
    place = host.path(folder or "/")
    if os.geteuid() == 0 and not host.is_own:
        _refuse_untrusted_image(host, place)
    return place / base


def _refuse_untrusted_image(host: Host, folder: Path) -> None:
    if not host.is_live:  # the root of a process is where the kernel says
        refuse_untrusted(host.root)
    there = next(one for one in (folder, *folder.parents) if one == host.root or os.path.lexists(one))
    os.close(open_trusted(there, root=host.root))


def reload_for(host: Host, name: str) -> None:
    """Have systemd load a file again that it looks at; of others it need not know."""
    if is_searched(name):
        reload_systemd(host)


def missing_folders(host: Host, name: str) -> tuple[str, ...]:
    """The folders on the way to a file that are not there, the outermost first.

    Raises ChangeError where something else is there, such as a link to nowhere.
    """
    parts = name.split("/")[1:-1]
    folders = ["/" + "/".join(parts[: count + 1]) for count in range(len(parts))]
    missing = tuple(folder for folder in folders if not host.path(folder).is_dir())
    if missing and os.path.lexists(place_of(host, missing[0])):
        raise ChangeError(f"{missing[0]} is no folder, and leads to none; it is left alone")
    return missing


def make_folders(host: Host, name: str) -> None:
    """Make the folders on the way to a file, readable for all as systemd wants them."""
    for folder in missing_folders(host, name):
        path = host.path(folder)
        path.mkdir(exist_ok=True)
        path.chmod(0o755)
        sync_folder(path.parent)


def remove_folders(host: Host, folders: tuple[str, ...]) -> None:
    """Remove folders that we made, unless somebody has put something else there."""
    for folder in reversed(folders):
        path = place_of(host, folder)
        try:
            path.rmdir()
            sync_folder(path.parent)
        except (FileNotFoundError, NotADirectoryError):
            continue  # gone, or a link that somebody has put there
        except OSError as error:
            if error.errno != errno.ENOTEMPTY:
                raise
            return


def read_link(path: Path) -> str | None:
    """Where a link leads, as it is written; None where nothing is there. OSError where it is no link."""
    try:
        return os.readlink(path)  # noqa: PTH115 - a Path would drop a "./"
    except FileNotFoundError:
        return None


def put_link(path: Path, text: str) -> None:
    """Make a link, to stay."""
    path.symlink_to(text)
    sync_folder(path.parent)


def drop_name(path: Path) -> None:
    """Remove a file or a link, to stay away."""
    path.unlink(missing_ok=True)
    sync_folder(path.parent)
