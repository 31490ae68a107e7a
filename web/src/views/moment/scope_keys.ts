// The keys in the scope: they move selection A, or the range.

import type { Grid } from "../../heatmap/scope_grid";
import type { Page } from "../../page";
import { selectionAfter } from "./keys";
import { shownRange } from "./questions";
import { selectionChange } from "./selection_change";
import { lengthOf, moved } from "./spans";

const PAGES: Record<string, number> = { PageUp: -1, PageDown: 1 };

export function scopeKeys(target: HTMLElement, page: Page, grid: () => Grid): void {
  function press(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const pages = PAGES[event.key];
    const next = pages ? undefined : selectionAfter(event, page.address.a, grid());
    if (!pages && next === undefined) return;
    event.preventDefault();
    if (pages) turn(pages);
    else if (next) page.go(selectionChange(page.address, "a", next), "replace");
    else page.go({ a: null, zoom: "" }, "replace");
  }

  function turn(pages: number): void {
    const range = shownRange(page.address);
    const [begin, end] = moved(range, pages * lengthOf(range));
    page.go({ begin, end }, "replace");
  }

  target.addEventListener("keydown", press);
}
