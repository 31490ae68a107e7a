// Puts the parts of the overview together: they move as one.

import { QUANTITIES } from "../../address";
import type { Quantity } from "../../address";
import type { RecordedHost } from "../../api/types";
import { coreGrid } from "../../heatmap/core_grid";
import { coreHeatmap } from "../../heatmap/core_heatmap";
import { legend } from "../../heatmap/legend";
import { timeAxis } from "../../heatmap/time_axis";
import { listen } from "../../heatmap/time_gestures";
import { clamped, lengthUs, panned, timeAt, zoomed } from "../../heatmap/viewport";
import type { Viewport } from "../../heatmap/viewport";
import type { Page } from "../../page";
import { choice } from "../../parts/choice";
import { element } from "../../parts/element";
import { toggle } from "../../parts/toggle";
import { damagedNote, failureState, loadingState } from "../../parts/states";
import { onTheme } from "../../parts/theme";
import { rangeText } from "../../parts/time_text";
import { hideTooltip, showTooltip } from "../../parts/tooltip";
import { overviewData } from "./data";
import { eventStrip } from "./event_strip";
import { LONGEST_MOMENT_US, momentOfEvent, momentOfRange } from "./moment_links";
import { rangeBar } from "./range_bar";
import { verdict } from "./verdict";
import { zombieChart } from "./zombie_chart";

const ADDRESS_AFTER_MS = 400;

export function startOverview(place: HTMLElement, page: Page, host: RecordedHost): void {
  const bounds: Viewport = { beginUs: host.begin_us, endUs: Math.max(host.end_us, host.begin_us + 1e6) };
  let view = clamped({ beginUs: page.address.begin, endUs: page.address.end }, bounds);
  let brushed: [number, number] | null = null;
  let addressTimer: ReturnType<typeof setTimeout> | undefined;

  const heatmap = coreHeatmap();
  const axis = timeAxis();
  const chart = zombieChart();
  const banner = verdict();
  const strip = eventStrip({
    open: (event) => page.go(momentOfEvent(event)),
    zoomTo: (beginUs, endUs) => moveTo(clamped({ beginUs, endUs }, bounds)),
  });
  const range = rangeBar({
    last: (us) => moveTo(clamped({ beginUs: bounds.endUs - us, endUs: bounds.endUs }, bounds)),
    all: () => moveTo(bounds),
    pan: (part) => moveTo(panned(view, part, bounds)),
    set: (wanted) => moveTo(clamped(wanted, bounds)),
  });
  const quantities = choice(
    "Colour",
    QUANTITIES.map((name) => [name, name] as const),
    (quantity) => page.go({ quantity }, "replace"),
  );
  const worstFirst = toggle("worst first", "The cores with most of it first, or by number", (isOn) =>
    page.go({ order: isOn ? "worst" : "number" }, "replace"),
  );
  const choosing = toggle("choose", "Dragging chooses seconds to open, as with Shift, or pans", setChoosing);
  const meaning = element("div", { class: "meaning" });
  const message = element("div", { class: "heatmap-message" }, loadingState("Loading the cores"));
  const notes = element("div");
  let isChoosing = false;

  const data = overviewData(
    page.ask,
    host.name,
    bounds,
    {
      cores(answer) {
        message.replaceChildren();
        notes.replaceChildren(damagedNote(answer.damaged) ?? "");
        heatmap.show(coreGrid(answer));
        draw();
      },
      events(answer) {
        strip.show(answer.events);
        strip.draw(view);
      },
      zombies(answer) {
        chart.show(answer);
        chart.draw(view);
      },
      diagnosing: () => banner.loading(),
      diagnosis: (answer) => banner.show(answer, page.address),
      failed(what, error) {
        if (what === "diagnosis") banner.fail(error);
        else if (what === "cores") message.replaceChildren(failureState(error, () => data.again()));
      },
    },
    page.signal,
  );

  function setChoosing(isOn: boolean): void {
    isChoosing = isOn;
    choosing.show(isOn);
    heatmap.canvas.dataset.mode = isOn ? "choose" : "pan";
  }

  function draw(): void {
    heatmap.draw(view, brushed);
    axis.show(view.beginUs, view.endUs, heatmap.canvas.clientWidth);
  }

  let frame = 0;
  function drawAll(): void {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => {
      draw();
      strip.draw(view);
      chart.draw(view);
      range.show(view);
    });
  }

  /** The picture moves at once; address and data follow when the movement has come to rest. */
  function moveTo(now: Viewport): void {
    view = now;
    drawAll();
    data.want(view, heatmap.canvas.clientWidth);
    clearTimeout(addressTimer);
    addressTimer = setTimeout(() => page.go({ begin: view.beginUs, end: view.endUs }), ADDRESS_AFTER_MS);
    page.announce("");
  }

  function choose(from: number, to: number): void {
    const [beginUs, endUs] = [timeAt(view, Math.min(from, to)), timeAt(view, Math.max(from, to))];
    if (endUs - beginUs > LONGEST_MOMENT_US) moveTo(clamped({ beginUs, endUs }, bounds));
    else page.go(momentOfRange(beginUs, endUs));
  }

  listen(
    heatmap.canvas,
    {
      pan: (part) => moveTo(panned(view, part, bounds)),
      zoom: (factor, at) => moveTo(zoomed(view, factor, at, bounds)),
      brush(from, to, isDone) {
        brushed = isDone ? null : [from, to];
        drawAll();
        if (isDone) choose(from, to);
      },
      click(_, event) {
        const cell = heatmap.cellAt(event);
        if (cell)
          page.go(
            momentOfRange(cell.beginUs, Math.min(cell.endUs, cell.beginUs + LONGEST_MOMENT_US), cell.core),
          );
      },
      hover(event) {
        const cell = event && heatmap.cellAt(event);
        if (!event || !cell) return hideTooltip();
        showTooltip(
          `core ${cell.core}\n${rangeText(cell.beginUs, cell.endUs)}\n${cell.text}`,
          event.clientX,
          event.clientY,
        );
      },
      enter: () => lengthUs(view) <= LONGEST_MOMENT_US && page.go(momentOfRange(view.beginUs, view.endUs)),
      isBrushing: () => isChoosing,
    },
    page.signal,
  );

  function arrange(quantity: Quantity, isWorst: boolean): void {
    quantities.show(quantity);
    worstFirst.show(isWorst);
    heatmap.arrange(quantity, isWorst);
    meaning.replaceChildren(legend(quantity));
  }

  heatmap.canvas.setAttribute(
    "aria-label",
    `Time of ${host.cores} cores. Arrow keys pan, plus and minus zoom, Enter opens the seconds shown.`,
  );
  place.append(
    element(
      "div",
      { class: "toolbar" },
      range.element,
      quantities.element,
      element("div", { class: "group" }, worstFirst.element, choosing.element),
    ),
    banner.element,
    notes,
    element(
      "div",
      { class: "timeline" },
      strip.element,
      element("div", { class: "cores" }, heatmap.labels, heatmap.scroller, message),
      axis.element,
      meaning,
      chart.element,
    ),
  );

  page.onChange((now, before) => {
    if (now.quantity !== before.quantity || now.order !== before.order) {
      arrange(now.quantity, now.order === "worst");
      draw();
    }
    if (now.begin === view.beginUs && now.end === view.endUs) return;
    if (now.begin !== before.begin || now.end !== before.end)
      moveTo(clamped({ beginUs: now.begin, endUs: now.end }, bounds));
  });
  onTheme(() => {
    arrange(page.address.quantity, page.address.order === "worst");
    chart.restyle();
    drawAll();
  }, page.signal);
  const watcher = new ResizeObserver(drawAll);
  watcher.observe(heatmap.scroller);
  page.signal.addEventListener("abort", () => {
    watcher.disconnect();
    clearTimeout(addressTimer);
    cancelAnimationFrame(frame);
    hideTooltip();
  });
  banner.loading();
  arrange(page.address.quantity, page.address.order === "worst");
  range.show(view);
  data.want(view, heatmap.canvas.clientWidth || 1000);
}
