// The scope in the moment view: picture, axis, events, legend; pointer, wheel and keys.

import type { Address } from "../../address";
import { shortsOf } from "../../api/bytes";
import type { RecordedEvent, Scope } from "../../api/types";
import { brush, type Side } from "../../heatmap/brush";
import { rowUs, spanOf, spanOfCell, type Cell, type Span } from "../../heatmap/scope_grid";
import { scopeHeatmap } from "../../heatmap/scope_heatmap";
import { scopeMarkers, type Mark } from "../../heatmap/scope_markers";
import { largest } from "../../heatmap/scope_picture";
import { timeAxis } from "../../heatmap/time_axis";
import type { Page } from "../../page";
import { element } from "../../parts/element";
import { hideTooltip, showTooltip } from "../../parts/tooltip";
import { addressOfEvent } from "./event_steps";
import { selectionAfter } from "./keys";
import { shownRange } from "./questions";
import { scopeLegend } from "./scope_legend";
import { selectionChange } from "./selection_change";
import { rangeWheel } from "./range_wheel";
import { clockTime, writtenCount, writtenLength, writtenSpan } from "./words";

export interface ScopePanel {
  follow(address: Address, events: readonly RecordedEvent[]): void;
  show(scope: Scope): void;
  showBaseline(spans: readonly Span[]): void; // the quiet seconds that were taken
  wait(): void;
  fail(state: HTMLElement | null): void; // null: the old picture stays
}

const KEYS =
  "Drag selects A, with Ctrl or Alt B. Arrow keys step the selection by its length, with Shift by one row; " +
  "plus and minus change its length; Escape takes the whole range; Page Up and Page Down move the range.";

export function scopePanel(place: HTMLElement, page: Page, side: () => Side): ScopePanel {
  const { signal } = page;
  const heat = element("div", { class: "scope-heat" });
  const rowLabels = ["1 s", "½", "0"].map((text) => element("span", {}, text));
  const says = element("p", { id: "scope-says", class: "for-readers" });
  const legendPlace = element("div", { class: "scope-legend" });
  const message = element("div", { class: "scope-message", hidden: true });
  const clock = element("div", { class: "scope-clock" });
  place.append(
    element("div", { class: "scope-rows", "aria-hidden": "true" }, ...rowLabels),
    heat,
    clock,
    legendPlace,
    message,
    says,
  );
  const heatmap = scopeHeatmap(heat, signal);
  heatmap.target.setAttribute("aria-describedby", "scope-says");
  const markers = scopeMarkers(clock, { onChoose: chooseEvent, onHover: hoverMark });
  const axis = timeAxis();
  clock.append(axis.element);
  const legend = scopeLegend(legendPlace, page);
  let events: readonly RecordedEvent[] = [];
  let quiet: readonly Span[] = [];
  let told = "";

  function chooseEvent(event: RecordedEvent): void {
    page.go(addressOfEvent(page.address, event));
  }

  function hoverMark(mark: Mark | null, pointer: PointerEvent): void {
    if (mark)
      showTooltip(mark.events.slice(0, 8).map(eventText).join("\n"), pointer.clientX, pointer.clientY);
    else hideTooltip();
  }

  function hoverCell(cell: Cell | null, pointer: PointerEvent): void {
    const count = cell && heatmap.countAt(cell);
    if (!cell || !count) return hideTooltip();
    const matched = count.matched === null ? "" : `, ${writtenCount(count.matched)} matching`;
    const [beginUs, endUs] = spanOfCell(heatmap.grid(), cell);
    const samples = `${writtenCount(count.samples)} samples${matched}`;
    const time = `${clockTime(beginUs)} to ${clockTime(endUs)} UTC`;
    showTooltip(`${time}\n${samples}`, pointer.clientX, pointer.clientY);
  }

  function drawSelections({ a, b }: Pick<Address, "a" | "b">): void {
    heatmap.select("a", a ? [a] : [], true);
    if (Array.isArray(b)) heatmap.select("b", [b], true);
    else heatmap.select("b", b ? quiet : [], false);
  }

  function select(which: Side, span: Span, isDone: boolean): void {
    if (isDone) page.go(selectionChange(page.address, which, span));
    else heatmap.select(which, [span], true);
  }

  brush(
    heatmap.target,
    {
      grid: heatmap.grid,
      side,
      selected: (which) => spanIn(page.address, which),
      onSelect: select,
      onCancel: () => drawSelections(page.address),
      onHover: hoverCell,
    },
    signal,
  );
  rangeWheel(heatmap.target, page, (range) => drawFrame(range));
  heatmap.target.addEventListener("keydown", press);

  function press(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const range = shownRange(page.address);
    const byUs =
      event.key === "PageUp" ? range[0] - range[1] : event.key === "PageDown" ? range[1] - range[0] : 0;
    const next = byUs ? undefined : selectionAfter(event, page.address.a, heatmap.grid());
    if (!byUs && next === undefined) return;
    event.preventDefault();
    if (byUs) page.go({ begin: range[0] + byUs, end: range[1] + byUs }, "replace");
    else if (next) page.go(selectionChange(page.address, "a", next), "replace");
    else page.go({ a: null, zoom: "" }, "replace");
  }

  function drawFrame(range: Span): void {
    heatmap.frame(range, page.address.rows);
    const [beginUs, endUs] = spanOf(heatmap.grid());
    axis.show(beginUs, endUs, clock.clientWidth || 800);
    markers.show(events, heatmap.grid(), page.address.event);
  }
  const resized = new ResizeObserver(() => drawFrame(shownRange(page.address)));
  resized.observe(clock);
  signal.addEventListener("abort", () => resized.disconnect());

  function tell(address: Address): void {
    const text = address.a ? `Selection A: ${writtenSpan(address.a)}` : "Selection A: the whole range";
    if (told && text !== told) page.announce(text);
    told = text;
    const label = `Subsecond heatmap of ${writtenSpan(shownRange(address))}; a column is a second, a row ${writtenLength(rowUs(heatmap.grid()))}`;
    heatmap.target.setAttribute("aria-label", `${label}. ${text}.`);
  }

  return {
    follow(address, known) {
      events = known;
      drawFrame(shownRange(address));
      drawSelections(address);
      heatmap.markMoment(events.find(({ id }) => id === address.event)?.time_us ?? null);
      legend.follow(address);
      tell(address);
    },
    show(scope) {
      const matched = scope.matched === null ? null : shortsOf(scope.matched);
      const grid = { beginUs: scope.begin_us, columns: scope.columns, rows: scope.rows };
      heatmap.show({ grid, counts: shortsOf(scope.counts), matched, most: Math.max(scope.most, 1) });
      legend.show(scope, matched ? largest(matched) : 0);
      says.textContent = `${writtenCount(scope.samples)} samples, at most ${writtenCount(scope.most)} in a cell. ${KEYS}`;
      settle(null);
      if (scope.samples === 0) settle(element("p", {}, "No samples here with these filters."));
    },
    showBaseline(spans) {
      quiet = spans;
      drawSelections(page.address);
    },
    wait: () => place.classList.add("is-outdated"),
    fail: settle,
  };

  function settle(state: HTMLElement | null): void {
    place.classList.remove("is-outdated");
    message.hidden = state === null;
    message.replaceChildren(...(state ? [state] : []));
  }
}

function spanIn({ a, b }: Address, which: Side): Span | null {
  return which === "a" ? a : Array.isArray(b) ? b : null;
}

function eventText(event: RecordedEvent): string {
  const core = event.core === null ? "" : `, core ${event.core}`;
  return `${clockTime(event.time_us)} ${event.kind}${core}: ${event.text}`;
}
