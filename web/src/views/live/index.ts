// Live: the last five minutes of a running recorder. A click freezes its seconds into the view "moment".

import { QUANTITIES } from "../../address";
import { failureOf } from "../../api/failure";
import type { Live, RecordedEvent, Zombies } from "../../api/types";
import { coreGrid } from "../../heatmap/core_grid";
import type { CoreGrid } from "../../heatmap/core_grid";
import { coreHeatmap } from "../../heatmap/core_heatmap";
import { legend } from "../../heatmap/legend";
import { rolled } from "../../heatmap/rolling_grid";
import { timeAxis } from "../../heatmap/time_axis";
import type { Viewport } from "../../heatmap/viewport";
import type { Page, View } from "../../page";
import { choice } from "../../parts/choice";
import { element } from "../../parts/element";
import { emptyState, failureState, loadingState } from "../../parts/states";
import { onTheme } from "../../parts/theme";
import { eventStrip } from "../overview/event_strip";
import { momentOfEvent, momentOfRange } from "../overview/moment_links";
import { zombieChart } from "../overview/zombie_chart";
import { eventList } from "./event_list";
import { freeze } from "./freeze";
import { poll } from "./poll";
import { recentEvents, recentZombies } from "./recent";
import { recorderState } from "./recorder_state";

const SECONDS = 300;
const WINDOW_US = SECONDS * 1_000_000;

export const live: View = (place, page) => {
  if (page.ask.oneFile) {
    place.append(
      emptyState(
        "Nothing live in a file",
        "This page is a file; a running recorder is seen with:",
        "necroscope serve",
      ),
    );
    return;
  }
  startLive(place, page);
};

function startLive(place: HTMLElement, page: Page): void {
  let grid: CoreGrid | null = null;
  let events: RecordedEvent[] = [];
  let zombies: Zombies | null = null;
  let view: Viewport = { beginUs: 0, endUs: WINDOW_US };

  const state = recorderState();
  const heatmap = coreHeatmap();
  const axis = timeAxis();
  const chart = zombieChart();
  const openEvent = (event: RecordedEvent): void => page.go(momentOfEvent(event));
  const strip = eventStrip({ open: openEvent, zoomTo: (begin, end) => page.go(momentOfRange(begin, end)) });
  const list = eventList(openEvent);
  const quantities = choice(
    "Colour",
    QUANTITIES.map((name) => [name, name] as const),
    (quantity) => page.go({ quantity }, "replace"),
  );
  const meaning = element("div", { class: "meaning" });
  const message = element("div", { class: "heatmap-message" }, loadingState("Waiting for the recorder"));

  function hear(answer: Live): void {
    message.replaceChildren();
    state.show(answer);
    view = { beginUs: answer.last_us - WINDOW_US, endUs: answer.last_us };
    grid = rolled(grid, answer.cores && coreGrid(answer.cores), answer.last_us, SECONDS);
    events = recentEvents(events, answer.events, view.beginUs);
    zombies = recentZombies(zombies, answer.zombies, view.beginUs);
    heatmap.show(grid);
    strip.show(events);
    list.show(events);
    if (zombies) chart.show({ ...zombies, why_none: "" }); // the forecast is in the overview
    draw();
  }

  /** The last picture stays; without one the failure takes its place. */
  function fail(error: unknown): void {
    state.fail(failureOf(error));
    if (!grid) message.replaceChildren(failureState(error));
  }

  function draw(): void {
    heatmap.draw(view);
    strip.draw(view);
    chart.draw(view);
    axis.show(view.beginUs, view.endUs, heatmap.canvas.clientWidth);
  }

  function arrange(): void {
    quantities.show(page.address.quantity);
    heatmap.arrange(page.address.quantity, false);
    meaning.replaceChildren(legend(page.address.quantity));
    draw();
  }

  place.append(
    element("div", { class: "toolbar" }, state.element, quantities.element),
    element(
      "div",
      { class: "timeline" },
      strip.element,
      element("div", { class: "cores" }, heatmap.labels, heatmap.scroller, message),
      axis.element,
      meaning,
      chart.element,
      list.element,
    ),
  );
  freeze(heatmap, page, () => view);
  page.onChange(arrange);
  onTheme(() => {
    chart.restyle();
    arrange();
  }, page.signal);
  const watcher = new ResizeObserver(draw);
  watcher.observe(heatmap.scroller);
  page.signal.addEventListener("abort", () => watcher.disconnect());
  arrange();
  poll(page, { live: hear, failed: fail });
}
