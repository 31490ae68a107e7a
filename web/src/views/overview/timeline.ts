// Puts the parts of the overview together: they move as one.

import type { Address } from "../../address";
import type { RecordedHost } from "../../api/types";
import { coreGrid } from "../../heatmap/core_grid";
import { coreHeatmap } from "../../heatmap/core_heatmap";
import { legend } from "../../heatmap/legend";
import { timeAxis } from "../../heatmap/time_axis";
import { listen } from "../../heatmap/time_gestures";
import { clamped, lengthUs, panned, timeAt, zoomed } from "../../heatmap/viewport";
import type { Viewport } from "../../heatmap/viewport";
import type { Page } from "../../page";
import { element } from "../../parts/element";
import { damagedNote, failureState, loadingState } from "../../parts/states";
import { onTheme } from "../../parts/theme";
import { rangeText } from "../../parts/time_text";
import { hideTooltip, showTooltip } from "../../parts/tooltip";
import { overviewData } from "./data";
import type { Asked, Heard, OverviewData } from "./data";
import { eventStrip } from "./event_strip";
import { LONGEST_MOMENT_US, momentOfEvent, momentOfRange } from "./moment_links";
import type { RangeActions } from "./range_bar";
import { toolbar } from "./toolbar";
import type { Toolbar } from "./toolbar";
import { verdict } from "./verdict";
import { zombieChart } from "./zombie_chart";

const ADDRESS_AFTER_MS = 400;
const FIRST_PIXELS = 1000; // before the picture has a width

export function startOverview(place: HTMLElement, page: Page, host: RecordedHost): void {
  new Timeline(page, host).start(place);
}

class Timeline {
  private readonly bounds: Viewport;
  private readonly data: OverviewData;
  private view: Viewport;
  private brushed: [number, number] | null = null;
  private frame = 0;
  private addressTimer: ReturnType<typeof setTimeout> | undefined;

  private readonly heatmap = coreHeatmap();
  private readonly axis = timeAxis();
  private readonly chart = zombieChart();
  private readonly banner = verdict();
  private readonly strip = eventStrip({
    open: (event) => this.page.go(momentOfEvent(event)),
    zoomTo: (beginUs, endUs) => this.moveInside({ beginUs, endUs }),
  });
  private readonly tools: Toolbar;
  private readonly meaning = element("div", { class: "meaning" });
  private readonly message = element("div", { class: "heatmap-message" }, loadingState("Loading the cores"));
  private readonly notes = element("div");

  constructor(
    private readonly page: Page,
    private readonly host: RecordedHost,
  ) {
    this.bounds = { beginUs: host.begin_us, endUs: Math.max(host.end_us, host.begin_us + 1e6) };
    this.view = clamped({ beginUs: page.address.begin, endUs: page.address.end }, this.bounds);
    this.tools = toolbar(page, this.rangeActions(), (isOn) => {
      this.heatmap.canvas.dataset.mode = isOn ? "choose" : "pan";
    });
    this.data = overviewData(page.ask, host.name, this.bounds, this.heard(), page.signal);
  }

  start(place: HTMLElement): void {
    const { page, heatmap } = this;
    this.layOut(place);
    this.listen();
    page.onChange((now, before) => this.follow(now, before));
    onTheme(() => this.restyle(), page.signal);
    const watcher = new ResizeObserver(() => this.drawAll());
    watcher.observe(heatmap.scroller);
    page.signal.addEventListener("abort", () => {
      watcher.disconnect();
      clearTimeout(this.addressTimer);
      cancelAnimationFrame(this.frame);
      hideTooltip();
    });
    this.banner.loading();
    this.arrange();
    this.tools.show(this.view);
    this.data.want(this.view, heatmap.canvas.clientWidth || FIRST_PIXELS);
  }

  private layOut(place: HTMLElement): void {
    const { heatmap } = this;
    heatmap.canvas.setAttribute(
      "aria-label",
      `Time of ${this.host.cores} cores. Arrow keys pan, plus and minus zoom, Enter opens the seconds shown.`,
    );
    const cores = element("div", { class: "cores" }, heatmap.labels, heatmap.scroller, this.message);
    const rows = [this.strip.element, cores, this.axis.element, this.meaning, this.chart.element];
    const timeline = element("div", { class: "timeline" }, ...rows);
    place.append(this.tools.element, this.banner.element, this.notes, timeline);
  }

  private rangeActions(): RangeActions {
    const { bounds } = this;
    return {
      last: (us) => this.moveInside({ beginUs: bounds.endUs - us, endUs: bounds.endUs }),
      all: () => this.moveTo(bounds),
      pan: (part) => this.pan(part),
      set: (wanted) => this.moveInside(wanted),
    };
  }

  private heard(): Heard {
    return {
      cores: (answer) => {
        this.message.replaceChildren();
        this.notes.replaceChildren(damagedNote(answer.damaged) ?? "");
        this.heatmap.show(coreGrid(answer));
        this.draw();
      },
      events: (answer) => {
        this.strip.show(answer.events);
        this.strip.draw(this.view);
      },
      zombies: (answer) => {
        this.chart.show(answer);
        this.chart.draw(this.view);
      },
      diagnosing: () => this.banner.loading(),
      diagnosis: (answer) => this.banner.show(answer, this.page.address),
      failed: (what, error) => this.fail(what, error),
    };
  }

  /** Each part says for itself what it lacks; the others stay. */
  private fail(what: Asked, error: unknown): void {
    if (what === "diagnosis") this.banner.fail(error);
    else if (what === "events") this.strip.fail(error);
    else if (what === "zombies") this.chart.fail(error);
    else this.message.replaceChildren(failureState(error, () => this.data.again()));
  }

  private draw(): void {
    this.heatmap.draw(this.view, this.brushed);
    this.axis.show(this.view.beginUs, this.view.endUs, this.heatmap.canvas.clientWidth);
  }

  private drawAll(): void {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => {
      this.draw();
      this.strip.draw(this.view);
      this.chart.draw(this.view);
      this.tools.show(this.view);
    });
  }

  /** The picture moves at once; address and data follow when the movement has come to rest. */
  private moveTo(now: Viewport): void {
    this.view = now;
    this.drawAll();
    this.data.want(now, this.heatmap.canvas.clientWidth);
    clearTimeout(this.addressTimer);
    const tell = (): void => this.page.go({ begin: this.view.beginUs, end: this.view.endUs });
    this.addressTimer = setTimeout(tell, ADDRESS_AFTER_MS);
    this.page.announce("");
  }

  private moveInside(wanted: Viewport): void {
    this.moveTo(clamped(wanted, this.bounds));
  }

  private pan(part: number): void {
    this.moveTo(panned(this.view, part, this.bounds));
  }

  private listen(): void {
    const gestures = {
      pan: (part: number) => this.pan(part),
      zoom: (factor: number, at: number) => this.moveTo(zoomed(this.view, factor, at, this.bounds)),
      brush: (from: number, to: number, isDone: boolean) => this.brush(from, to, isDone),
      click: (_: number, event: PointerEvent) => this.openCell(event),
      hover: (event: PointerEvent | null) => this.hover(event),
      enter: () => this.openShown(),
      isBrushing: () => this.tools.isChoosing(),
    };
    listen(this.heatmap.canvas, gestures, this.page.signal);
  }

  private brush(from: number, to: number, isDone: boolean): void {
    this.brushed = isDone ? null : [from, to];
    this.drawAll();
    if (!isDone) return;
    const beginUs = timeAt(this.view, Math.min(from, to));
    const endUs = timeAt(this.view, Math.max(from, to));
    if (endUs - beginUs > LONGEST_MOMENT_US) this.moveInside({ beginUs, endUs });
    else this.page.go(momentOfRange(beginUs, endUs));
  }

  private openCell(event: PointerEvent): void {
    const cell = this.heatmap.cellAt(event);
    if (!cell) return;
    const endUs = Math.min(cell.endUs, cell.beginUs + LONGEST_MOMENT_US);
    this.page.go(momentOfRange(cell.beginUs, endUs, cell.core));
  }

  private openShown(): void {
    const { beginUs, endUs } = this.view;
    if (lengthUs(this.view) <= LONGEST_MOMENT_US) this.page.go(momentOfRange(beginUs, endUs));
  }

  private hover(event: PointerEvent | null): void {
    const cell = event && this.heatmap.cellAt(event);
    if (!event || !cell) return hideTooltip();
    const text = `core ${cell.core}\n${rangeText(cell.beginUs, cell.endUs)}\n${cell.text}`;
    showTooltip(text, event.clientX, event.clientY);
  }

  private arrange(): void {
    const { address } = this.page;
    this.tools.follow(address);
    this.heatmap.arrange(address.quantity, address.order === "worst");
    this.meaning.replaceChildren(legend(address.quantity));
  }

  private restyle(): void {
    this.arrange();
    this.chart.restyle();
    this.drawAll();
  }

  private follow(now: Address, before: Address): void {
    if (now.quantity !== before.quantity || now.order !== before.order) {
      this.arrange();
      this.draw();
    }
    if (now.begin === this.view.beginUs && now.end === this.view.endUs) return;
    if (now.begin === before.begin && now.end === before.end) return;
    this.moveInside({ beginUs: now.begin, endUs: now.end });
  }
}
