// The scope in the moment view: picture, axis, events, legend; pointer, wheel and keys.

import type { Address } from "../../address";
import { shortsOf } from "../../api/bytes";
import type { RecordedEvent, Scope } from "../../api/types";
import { brush, type Side } from "../../heatmap/brush";
import { spanOf, unrecorded, type Cell, type Span } from "../../heatmap/scope_grid";
import { scopeHeatmap, type ScopeHeatmap } from "../../heatmap/scope_heatmap";
import { scopeMarkers, type ScopeMarkers } from "../../heatmap/scope_markers";
import { largest } from "../../heatmap/scope_picture";
import { timeAxis } from "../../heatmap/time_axis";
import type { Page } from "../../page";
import { element } from "../../parts/element";
import { hideTooltip, showTooltip } from "../../parts/tooltip";
import { addressOfEvent } from "./event_steps";
import { shownRange } from "./questions";
import { rangeWheel } from "./range_wheel";
import { scopeFrame, type ScopeFrame } from "./scope_frame";
import { scopeKeys } from "./scope_keys";
import { scopeLegend, type ScopeLegend } from "./scope_legend";
import { cellText, eventsText, KEYS, pictureText, selectionText } from "./scope_words";
import { selectionChange } from "./selection_change";
import { writtenCount } from "./words";

export class ScopePanel {
  private readonly frame: ScopeFrame;
  private readonly heatmap: ScopeHeatmap;
  private readonly markers: ScopeMarkers;
  private readonly legend: ScopeLegend;
  private readonly axis = timeAxis();
  private events: readonly RecordedEvent[] = [];
  private quiet: readonly Span[] = [];
  private recorded: readonly Span[] = [];
  private told = "";

  constructor(
    private readonly place: HTMLElement,
    private readonly page: Page,
    private readonly side: () => Side,
  ) {
    this.frame = scopeFrame(place);
    this.heatmap = scopeHeatmap(this.frame.heat, page.signal);
    this.heatmap.target.setAttribute("aria-describedby", this.frame.says.id);
    this.markers = scopeMarkers(this.frame.clock, {
      onChoose: (event) => page.go(addressOfEvent(page.address, event)),
      onHover: (mark, pointer) => tip(mark && eventsText(mark.events), pointer),
    });
    this.frame.clock.append(this.axis.element);
    this.legend = scopeLegend(this.frame.legend, page);
    this.listen();
  }

  follow(address: Address, events: readonly RecordedEvent[]): void {
    this.events = events;
    this.drawFrame(shownRange(address));
    this.drawSelections();
    this.heatmap.markMoment(events.find(({ id }) => id === address.event)?.time_us ?? null);
    this.legend.follow(address);
    this.tell(address);
  }

  show(scope: Scope): void {
    const matched = scope.matched === null ? null : shortsOf(scope.matched);
    const grid = { beginUs: scope.begin_us, columns: scope.columns, rows: scope.rows };
    this.recorded = scope.recorded_us;
    this.heatmap.recorded(this.recorded);
    this.heatmap.show({ grid, counts: shortsOf(scope.counts), matched, most: Math.max(scope.most, 1) });
    const hasGaps = unrecorded(grid, this.recorded).length > 0;
    this.legend.show(scope, matched ? largest(matched) : 0, hasGaps);
    const most = writtenCount(scope.most);
    this.frame.says.textContent = `${writtenCount(scope.samples)} samples, at most ${most} in a cell. ${KEYS}`;
    const isEmpty = scope.samples === 0;
    this.frame.settle(isEmpty ? element("p", {}, "No samples here with these filters.") : null);
  }

  /** The quiet seconds that were taken. */
  showBaseline(spans: readonly Span[]): void {
    this.quiet = spans;
    this.drawSelections();
  }

  wait(): void {
    this.place.classList.add("is-outdated");
  }

  /** null: the old picture stays. */
  fail(state: HTMLElement | null): void {
    this.frame.settle(state);
  }

  private listen(): void {
    const { heatmap, page } = this;
    const hears = {
      grid: heatmap.grid,
      side: this.side,
      selected: (which: Side) => spanIn(page.address, which),
      onSelect: (which: Side, span: Span, isDone: boolean) => this.select(which, span, isDone),
      onCancel: () => this.drawSelections(),
      onHover: (cell: Cell | null, pointer: PointerEvent) => this.hover(cell, pointer),
    };
    brush(heatmap.target, hears, page.signal);
    rangeWheel(heatmap.target, page, (range) => this.drawFrame(range));
    scopeKeys(heatmap.target, page, heatmap.grid);
    const resized = new ResizeObserver(() => this.drawFrame(shownRange(page.address)));
    resized.observe(this.frame.clock);
    page.signal.addEventListener("abort", () => resized.disconnect());
  }

  private hover(cell: Cell | null, pointer: PointerEvent): void {
    const count = cell && this.heatmap.countAt(cell);
    tip(cell && count && cellText(this.heatmap.grid(), cell, count, this.recorded), pointer);
  }

  private select(which: Side, span: Span, isDone: boolean): void {
    if (isDone) this.page.go(selectionChange(this.page.address, which, span));
    else this.heatmap.select(which, [span], true);
  }

  private drawSelections(): void {
    const { a, b } = this.page.address;
    this.heatmap.select("a", a ? [a] : [], true);
    if (Array.isArray(b)) this.heatmap.select("b", [b], true);
    else this.heatmap.select("b", b ? this.quiet : [], false);
  }

  private drawFrame(range: Span): void {
    const { heatmap, page } = this;
    heatmap.frame(range, page.address.rows);
    const [beginUs, endUs] = spanOf(heatmap.grid());
    this.axis.show(beginUs, endUs, this.frame.clock.clientWidth || 800);
    this.markers.show(this.events, heatmap.grid(), page.address.event);
  }

  private tell(address: Address): void {
    const text = selectionText(address);
    if (this.told && text !== this.told) this.page.announce(text);
    this.told = text;
    const { target, grid } = this.heatmap;
    target.setAttribute("aria-label", `${pictureText(address, grid())}. ${text}.`);
  }
}

function tip(text: string | null, pointer: PointerEvent): void {
  if (text) showTooltip(text, pointer.clientX, pointer.clientY);
  else hideTooltip();
}

function spanIn({ a, b }: Address, which: Side): Span | null {
  return which === "a" ? a : Array.isArray(b) ? b : null;
}
