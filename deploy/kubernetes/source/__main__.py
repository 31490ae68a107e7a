"""Write all generated files anew; files that are no longer made are removed."""

from __future__ import annotations

from pathlib import Path

from deploy.kubernetes.source.files import FOLDERS, all_files


def main() -> None:
    """Into the repository."""
    files = all_files()
    for folder in FOLDERS:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path not in files:
                path.unlink()
    for path, text in files.items():
        _write(path, text)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


if __name__ == "__main__":
    main()
