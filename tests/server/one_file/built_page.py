"""A page as Vite builds it, as small as it can be; and what is in a one-file page."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64decode
from pathlib import Path
from typing import Any

INDEX = """<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <link rel="icon" href="./assets/icon-AAAAAAAA.svg" type="image/svg+xml" />
    <script type="module" crossorigin src="./assets/index-BBBBBBBB.js"></script>
    <link rel="stylesheet" crossorigin href="./assets/style-CCCCCCCC.css">
  </head>
  <body>
    <div id="page"></div>
  </body>
</html>
"""
SCRIPT = 'document.title = "</script><!-- $1 \\\\1";\n'


def built_page(folder: Path) -> Path:
    """The files of a page."""
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text(INDEX)
    (folder / "assets/index-BBBBBBBB.js").write_text(SCRIPT)
    (folder / "assets/style-CCCCCCCC.css").write_text("body { color: red }")
    (folder / "assets/icon-AAAAAAAA.svg").write_text("<svg/>")
    return folder


def embedded(page: bytes) -> dict[str, Any]:
    """The answers in a file."""
    found = re.search(rb'id="embedded"[^>]*>([^<]+)</script>', page)
    assert found
    answers: dict[str, Any] = json.loads(gzip.decompress(b64decode(found[1])))["answers"]
    return answers
