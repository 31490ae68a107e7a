// Moves and zooms the range that the scope shows, and steps from event to event.

import type { Address } from "../../address";
import type { RecordedEvent } from "../../api/types";
import { element } from "../../parts/element";
import type { Page } from "../../page";
import { addressOfEvent, stepFrom } from "./event_steps";
import { shownRange } from "./questions";
import { LONGEST_RANGE_US, lengthOf, moved, SHORTEST_RANGE_US, zoomed } from "./spans";
import { writtenSpan } from "./words";

export interface RangeBar {
  follow(address: Address, events: readonly RecordedEvent[]): void;
}

const MINUTE_US = 60_000_000;

export function rangeBar(place: HTMLElement, page: Page): RangeBar {
  let events: readonly RecordedEvent[] = [];
  const text = element("strong", { class: "range-text" });
  const chosen = element("span", { class: "chosen-event quiet" });

  const move = (byUs: number) => goTo(page, moved(shownRange(page.address), byUs));
  const zoom = (factor: number) => {
    const range = shownRange(page.address);
    goTo(page, zoomed(range, factor, (range[0] + range[1]) / 2));
  };
  const step = (direction: 1 | -1) => {
    const event = stepFrom(page.address, events, direction);
    if (event) page.go(addressOfEvent(page.address, event));
  };
  const zoomIn = button("+", "Zoom in: half the range", () => zoom(0.5));
  const zoomOut = button("−", "Zoom out: twice the range", () => zoom(2));
  const before = button("◂ event", "Previous event", () => step(-1));
  const after = button("event ▸", "Next event", () => step(1));
  place.append(
    group(
      button("◂ 1 min", "1 min earlier", () => move(-MINUTE_US)),
      text,
    ),
    group(
      button("1 min ▸", "1 min later", () => move(MINUTE_US)),
      zoomOut,
      zoomIn,
    ),
    group(before, after, chosen),
  );

  return {
    follow(address, known) {
      events = known;
      const range = shownRange(address);
      text.textContent = writtenSpan(range);
      zoomIn.disabled = lengthOf(range) <= SHORTEST_RANGE_US;
      zoomOut.disabled = lengthOf(range) >= LONGEST_RANGE_US;
      before.disabled = !stepFrom(address, events, -1);
      after.disabled = !stepFrom(address, events, 1);
      const event = events.find(({ id }) => id === address.event);
      chosen.textContent = event ? `${event.kind}: ${event.text}` : "";
      chosen.title = event?.line ?? "";
    },
  };
}

export function goTo(
  page: Page,
  [begin, end]: readonly [number, number],
  how: "push" | "replace" = "push",
): void {
  page.go({ begin, end }, how);
}

export function button(text: string, title: string, onclick: () => void): HTMLButtonElement {
  return element("button", { type: "button", title, "aria-label": title, onclick }, text);
}

function group(...children: HTMLElement[]): HTMLElement {
  return element("div", { class: "group" }, ...children);
}
