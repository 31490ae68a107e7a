"""A strict reader of our HTML pages, for tests: nesting, ids, and what they would fetch."""

from __future__ import annotations

from collections import Counter
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "hr", "img", "input"}
FETCHING = {"src", "href", "xlink:href", "data", "action", "poster", "srcset", "background"}


class Page(HTMLParser):
    """What a page is made of; `faults` says what is wrong with it."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.faults: list[str] = []
        self.ids: Counter[str] = Counter()
        self.fetched: list[str] = []
        self.tags: Counter[str] = Counter()
        self.text: list[str] = []
        self.feed(text)
        self.close()
        self.faults += [f"{tag} is not closed" for tag in self.open]
        self.faults += [f"id {id} twice" for id, count in self.ids.items() if count > 1]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember it."""
        self.tags[tag] += 1
        for name, value in attrs:
            if name == "id":
                self.ids[value or ""] += 1
            if name in FETCHING and not (value or "").startswith("#"):
                self.fetched.append(f"{tag} {name}={value}")
            if name.startswith("on"):
                self.faults.append(f"{tag} has {name}")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element of SVG that has no content."""
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        """It must close what was opened last."""
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes something else")

    def handle_data(self, data: str) -> None:
        """Words that a reader sees, and those of scripts and styles."""
        if not self.open or self.open[-1] not in ("style", "script"):
            self.text.append(data)
