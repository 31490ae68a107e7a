// Who is next: when each host reaches the wall, the soonest first, with the interval drawn.

import type { FleetNext, HostForecast } from "../../api/types";
import { element } from "../../parts/element";
import { timeText } from "../../parts/time_text";
import { firstRows } from "./first_rows";
import { intervalBar, scaleAxis } from "./interval_bar";
import { countText, intervalText, many, secondsText, shortNumber } from "./numbers";
import { waitScale } from "./scale";
import type { Scale } from "./scale";
import { note } from "./where_table";

const FIRST_ROWS = 10;
const SOON_S = 24 * 3600;

export function nextList(answer: FleetNext): (Node | null)[] {
  const scale = waitScale();
  const telling = answer.forecasts.filter((one) => one.seconds !== null || isBeyond(one));
  const { body, button } = firstRows(
    telling.slice(0, FIRST_ROWS),
    telling.slice(FIRST_ROWS),
    (one) => line(one, scale, answer),
    "host",
  );
  const summary = `${countText(answer.growing)} of ${many(answer.hosts, "host")} grow; ${many(answer.beyond, "is", "are")} beyond the wall.`;
  if (telling.length === 0) {
    return [element("p", {}, `No host is on its way to the wall. ${summary}`), note(answer.note)];
  }
  return [
    element("p", { class: "quiet" }, summary),
    element("table", { class: "fleet-table next" }, element("thead", {}, heads(scale)), body),
    button,
    note(answer.note),
  ];
}

export function isBeyond(one: HostForecast): boolean {
  return one.seconds === 0 || one.outlook === "beyond";
}

function heads(scale: Scale): HTMLElement {
  return element(
    "tr",
    {},
    element("th", { scope: "col" }, "Host"),
    element(
      "th",
      { scope: "col", class: "drawn" },
      element("span", { class: "for-readers" }, "When, drawn"),
      scaleAxis(scale),
    ),
    element("th", { scope: "col" }, "Reaches the wall"),
  );
}

function line(one: HostForecast, scale: Scale, answer: FleetNext): HTMLElement {
  const range = { value: one.seconds, low: one.earliest_seconds, high: one.latest_seconds };
  const isSoon = isBeyond(one) || (one.seconds !== null && one.seconds < SOON_S);
  return element(
    "tr",
    { "data-host": one.host, class: isSoon ? "is-soon" : "" },
    element("th", { scope: "row", class: "mono" }, one.host),
    element("td", { class: "drawn" }, isBeyond(one) ? null : intervalBar(scale, range, isSoon ? "soon" : "")),
    element(
      "td",
      { "data-head": "reaches the wall" },
      element("b", {}, whenText(one)),
      element("span", { class: "quiet" }, earliestText(one)),
      element("div", { class: "quiet" }, growthText(one, answer)),
    ),
  );
}

export function whenText(one: HostForecast): string {
  if (isBeyond(one)) return "beyond it now";
  return one.seconds === null ? "not known" : `in ${secondsText(one.seconds)}`;
}

function earliestText(one: HostForecast): string {
  if (isBeyond(one) || one.earliest_seconds === null) return "";
  const latest = one.latest_seconds === null ? "no limit" : secondsText(one.latest_seconds);
  return ` (${secondsText(one.earliest_seconds)} to ${latest})`;
}

function growthText(one: HostForecast, answer: FleetNext): string {
  const wall = one.wall_level === null ? "" : ` of ${countText(one.wall_level)}`;
  const growth = one.per_hour === null ? "" : `, ${shortNumber(one.per_hour)} more an hour`;
  const how = one.per_hour_interval ? ` (${intervalText(one.per_hour_interval)})` : "";
  const isOld = answer.end_us - one.last_us > 3600 * 1e6;
  return `${countText(one.tracked)}${wall} tracked cgroups${growth}${how}${isOld ? `; last seen ${timeText(one.last_us)}` : ""}`;
}
