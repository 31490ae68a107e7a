// The strip of events: a lane for each sort, a button for each mark, arrow keys from mark to mark.

import type { RecordedEvent } from "../../api/types";
import type { Viewport } from "../../heatmap/viewport";
import { element, svg } from "../../parts/element";
import { notShown } from "../../parts/states";
import { LANES, lookOf } from "../../parts/event_kinds";
import { hideTooltip, showTooltip } from "../../parts/tooltip";
import { timeText } from "../../parts/time_text";
import { crowdLengthUs, crowds } from "./crowds";
import type { Crowd } from "./crowds";

const APART_PIXELS = 22;
const MOMENT_US = 60_000_000;

export interface EventStrip {
  readonly element: HTMLElement;
  show(events: RecordedEvent[]): void;
  fail(error: unknown): void;
  draw(view: Viewport): void;
}

export interface StripActions {
  open(event: RecordedEvent): void;
  zoomTo(beginUs: number, endUs: number): void;
}

export function eventStrip(actions: StripActions): EventStrip {
  const place = element("div", { class: "lanes", role: "group", "aria-label": "Events", onkeydown: step });
  let events: RecordedEvent[] | null = null;
  let failed = "";

  function act(crowd: Crowd): void {
    hideTooltip();
    const length = crowdLengthUs(crowd);
    if (length <= MOMENT_US) actions.open(crowd.main);
    else actions.zoomTo(crowd.events[0]!.time_us - length * 0.2, crowd.events.at(-1)!.time_us + length * 0.2);
  }

  function mark(crowd: Crowd): HTMLElement {
    const count = crowd.events.length;
    const button = element(
      "button",
      {
        class: `mark ${lookOf(crowd.main.kind).lane}`,
        type: "button",
        tabindex: -1,
        "aria-label": crowdText(crowd),
      },
      svg(
        "svg",
        { viewBox: "0 0 12 12", "aria-hidden": "true" },
        svg("path", { d: lookOf(crowd.main.kind).path }),
      ),
      count > 1 &&
        element("span", { class: "count", "aria-hidden": "true" }, count > 99 ? "99+" : String(count)),
    );
    button.dataset.kind = crowd.main.kind;
    button.dataset.event = crowd.main.id;
    button.style.left = `${crowd.part * 100}%`;
    button.addEventListener("click", () => act(crowd));
    button.addEventListener("pointerenter", (event) =>
      showTooltip(crowdText(crowd), event.clientX, event.clientY),
    );
    button.addEventListener("pointerleave", hideTooltip);
    return button;
  }

  function lane(name: string, view: Viewport, apart: number): HTMLElement | null {
    const marks = crowds(
      (events ?? []).filter((event) => lookOf(event.kind).lane === name),
      view,
      apart,
    ).map(mark);
    if (marks.length === 0) return null;
    return element(
      "div",
      { class: "lane" },
      element("span", { class: "lane-name", "aria-hidden": "true" }, name),
      element("div", { class: "lane-marks" }, ...marks),
    );
  }

  function marks(): HTMLElement[] {
    return [...place.querySelectorAll<HTMLElement>("button.mark")];
  }

  /** One stop for Tab; the arrow keys go on from there, in the order of time. */
  function step(event: KeyboardEvent): void {
    const ways: Record<string, number> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    const way = ways[event.key];
    if (way === undefined) return;
    event.preventDefault();
    const all = marks().sort((one, other) => parseFloat(one.style.left) - parseFloat(other.style.left));
    const next = all[all.indexOf(document.activeElement as HTMLElement) + way];
    if (next) focusOn(next);
  }

  function focusOn(next: HTMLElement): void {
    for (const one of marks()) one.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  return {
    element: place,
    show(now) {
      [events, failed] = [now, ""];
    },
    fail(error) {
      events = null;
      failed = notShown("Events", error);
      place.replaceChildren(words(failed));
    },
    draw(view) {
      const focused = place.contains(document.activeElement)
        ? (document.activeElement as HTMLElement).dataset.event
        : "";
      const apart = APART_PIXELS / Math.max(1, place.clientWidth);
      const lanes = LANES.map((name) => lane(name, view, apart)).filter((one) => one !== null);
      place.replaceChildren(
        ...(lanes.length > 0
          ? lanes
          : [words(failed || (events ? "No events here." : "Loading the events"))]),
      );
      const again = marks().find((one) => one.dataset.event === focused);
      if (again) focusOn(again);
      else marks()[0]?.setAttribute("tabindex", "0");
    },
  };
}

function words(text: string): HTMLElement {
  return element("p", { class: "quiet none", role: "status" }, text);
}

export function crowdText(crowd: Crowd): string {
  const { main } = crowd;
  const where = [main.core === null ? "" : `core ${main.core}`, main.device ?? ""].filter(Boolean).join(", ");
  const first = `${main.kind} at ${timeText(main.time_us)}${where && ` (${where})`}\n${main.text}`;
  return crowd.events.length === 1 ? first : `${crowd.events.length} events\n${first}`;
}
