// The events of a cell or of a row, each a link to the host's own recording of that minute.

import { hashOf, inView } from "../../address";
import type { Address } from "../../address";
import type { FleetEvent, FleetEvents } from "../../api/types";
import { element } from "../../parts/element";
import { timeText } from "../../parts/time_text";
import { momentOfEvent } from "../overview/moment_links";
import { firstRows } from "./first_rows";
import { countText } from "./numbers";

const FIRST_ROWS = 8;

export function momentLink(
  address: Address,
  event: { host: string; id: string; time_us: number; core: number | null },
): string {
  return hashOf({ ...inView(address, "moment"), ...momentOfEvent(event), host: event.host });
}

export function eventList(answer: FleetEvents, address: Address): HTMLElement {
  if (answer.events.length === 0) return element("p", { class: "quiet" }, "No event here.");
  const { body, button } = firstRows(
    answer.events.slice(0, FIRST_ROWS),
    answer.events.slice(FIRST_ROWS),
    (event) => eventRow(event, address),
    "event",
  );
  const more = answer.left_out;
  return element(
    "div",
    {},
    element(
      "table",
      { class: "fleet-table fleet-events" },
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          ...["When", "Host", "What", "Recording"].map((head) => element("th", { scope: "col" }, head)),
        ),
      ),
      body,
    ),
    button,
    more > 0 && element("p", { class: "quiet" }, `The newest; ${countText(more)} older ones are not listed.`),
  );
}

function eventRow(event: FleetEvent, address: Address): HTMLElement {
  const link = element(
    "a",
    { href: momentLink(address, event) },
    timeText(Math.floor(event.time_us / 1e6) * 1e6),
  );
  const core = event.core === null ? "" : ` (core ${event.core})`;
  return element(
    "tr",
    { "data-event": event.id },
    element("td", { "data-head": "when" }, link),
    element("td", { "data-head": "host", class: "mono" }, event.host),
    element("td", { "data-head": "what" }, `${event.text}${core}`),
    element("td", { "data-head": "recording" }, event.is_shipped ? "here: open it" : "on its host"),
  );
}
