// The newest events as a list, newest first.

import type { RecordedEvent } from "../../api/types";
import { element } from "../../parts/element";
import { clockText } from "../../parts/time_text";

const MOST = 20;

export interface EventList {
  readonly element: HTMLElement;
  show(events: RecordedEvent[]): void;
}

export function eventList(open: (event: RecordedEvent) => void): EventList {
  const rows = element("ol", { class: "event-list", tabindex: 0, "aria-label": "Newest events" });
  let shown = "";

  function row(event: RecordedEvent): HTMLElement {
    const button = element(
      "button",
      { type: "button", onclick: () => open(event) },
      `${clockText(event.time_us)} ${event.kind}`,
    );
    return element("li", {}, button, element("span", {}, event.text));
  }

  return {
    element: rows,
    show(events) {
      const newest = events.slice(-MOST).reverse();
      const now = JSON.stringify(newest);
      if (now === shown) return; // the focus stays where it is
      shown = now;
      const none = element("li", { class: "quiet" }, "No events in the last five minutes.");
      rows.replaceChildren(...(newest.length > 0 ? newest.map(row) : [none]));
    },
  };
}
