// Where events concentrate: each value with its rate ratio and interval drawn, the likeliest cause first.

import type { FleetConcentration, FleetWhere } from "../../api/types";
import { element } from "../../parts/element";
import { firstRows } from "./first_rows";
import { intervalBar, scaleAxis } from "./interval_bar";
import { chanceText, intervalText, labelText, many, rateText, timesText, valueText } from "./numbers";
import { ratioScale } from "./scale";
import type { Ranged, Scale } from "./scale";

const FIRST_ROWS = 6;
const WORDS = {
  concentrates: ["▲", "concentrates"],
  spared: ["▽", "spared"],
  follows: ["↪", "follows"],
  "not shown": ["·", "not shown"],
} as const;

export interface WhereActions {
  choose(label: string, value: string): void;
  isChosen(label: string, value: string): boolean;
}

export function whereTable(answer: FleetWhere, actions: WhereActions): (Node | null)[] {
  const rows = answer.concentrations;
  if (rows.length === 0) return [element("p", {}, nothingSaid(answer)), note(answer.note)];
  const scale = ratioScale(rows.filter((row) => row.standing !== "not shown").map(ranged));
  const shown = rows.filter((row, at) => row.standing !== "not shown" || at < FIRST_ROWS);
  const rest = rows.filter((row) => !shown.includes(row));
  const { body, button } = firstRows(
    shown,
    rest,
    (row) => line(row, scale, actions),
    "value that shows nothing",
    "values that show nothing",
  );
  return [
    element("p", { class: "quiet" }, summary(answer)),
    element("table", { class: "fleet-table where" }, element("thead", {}, heads(scale)), body),
    button,
    note(answer.note),
  ];
}

function ranged(row: FleetConcentration): Ranged {
  return { value: row.rate_ratio, low: row.interval.low, high: row.interval.high };
}

function heads(scale: Scale): HTMLElement {
  return element(
    "tr",
    {},
    element("th", { scope: "col" }, "Value"),
    element(
      "th",
      { scope: "col", class: "drawn" },
      element("span", { class: "for-readers" }, "Rate ratio, drawn"),
      scaleAxis(scale),
    ),
    element("th", { scope: "col" }, "Times the rate of others"),
    element("th", { scope: "col" }, "Hosts affected"),
  );
}

function line(row: FleetConcentration, scale: Scale, actions: WhereActions): HTMLElement {
  const [sign, word] = WORDS[row.standing];
  const name = valueText(row.label, row.value);
  const button = element(
    "button",
    {
      type: "button",
      class: "value",
      title: row.sentence,
      "aria-pressed": String(actions.isChosen(row.label, row.value)),
      "data-label": row.label,
      "data-value": row.value,
      onclick: () => actions.choose(row.label, row.value),
    },
    name,
  );
  return element(
    "tr",
    { class: `is-${row.standing.replace(" ", "-")}` },
    element(
      "th",
      { scope: "row" },
      button,
      element("div", { class: "standing" }, element("span", { "aria-hidden": "true" }, `${sign} `), word),
      because(row),
    ),
    element("td", { class: "drawn" }, intervalBar(scale, ranged(row), row.standing.replace(" ", "-"), 1)),
    element(
      "td",
      { "data-head": "times the rate of others" },
      element("b", {}, timesText(row.rate_ratio)),
      element("span", { class: "quiet" }, ` ${intervalText(row.interval)}`),
      among(row),
    ),
    element(
      "td",
      { "data-head": "hosts affected", title: ratesText(row) },
      `${row.inside.affected} of ${row.inside.hosts}`,
      element("div", { class: "quiet" }, `others ${row.outside.affected} of ${row.outside.hosts}`),
      element("div", { class: "quiet" }, `q ${chanceText(row.q)}`),
    ),
  );
}

function ratesText(row: FleetConcentration): string {
  const inside = rateText(row.inside.episodes, row.inside.host_hours);
  const outside = rateText(row.outside.episodes, row.outside.host_hours);
  return `${inside} against ${outside} episodes per 1,000 host-hours`;
}

/** Why it is no cause of its own, or what it may just as well be. */
function because(row: FleetConcentration): HTMLElement | null {
  const said: string[] = [];
  if (row.follows.length) said.push(`because of ${row.follows.map(labelText).join(", ")}`);
  if (row.cannot_tell_apart_from.length && row.standing !== "not shown") {
    said.push(`cannot be told apart from ${row.cannot_tell_apart_from.map(labelText).join(", ")}`);
  }
  return said.length ? element("div", { class: "quiet" }, said.join("; ")) : null;
}

function among(row: FleetConcentration): HTMLElement | null {
  if (row.ratio_among_alike === null) return null;
  const text = `hosts alike in that: ${timesText(row.ratio_among_alike)} ${intervalText(row.interval_among_alike)}`;
  return element("div", { class: "quiet" }, text);
}

function summary(answer: FleetWhere): string {
  const { total } = answer;
  const unknown = answer.unknown_hosts ? `; of ${many(answer.unknown_hosts, "host")} nothing is known` : "";
  return `${many(total.episodes, "episode")} on ${total.affected} of ${many(total.hosts, "host")}, ${many(answer.tested, "value")} tested${unknown}.`;
}

function nothingSaid(answer: FleetWhere): string {
  if (answer.total.episodes === 0) return "No such event in this range.";
  return `${summary(answer)} No label of these hosts could be tested.`;
}

export function note(text: string): HTMLElement | null {
  return text ? element("p", { class: "notes" }, text) : null;
}
