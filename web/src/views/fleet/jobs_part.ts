// Failed jobs over time, what they are put down to, and how many of them chance would give.

import type { Address } from "../../address";
import type { BlamesOfTime, FailedJob, FleetJobs } from "../../api/types";
import { element } from "../../parts/element";
import { clockText, timeText } from "../../parts/time_text";
import { firstRows } from "./first_rows";
import { momentLink } from "./event_list";
import { chanceText, countText, many, percentText, secondsText, shortNumber } from "./numbers";
import { note } from "./where_table";

const BLAMES = [
  ["node", "put down to a node's event"],
  ["own", "failed by itself"],
  ["unknown", "no event before it"],
  ["not_checked", "not checked"],
] as const;
const FIRST_ROWS = 10;

export function jobsPicture(answer: FleetJobs, address: Address): (Node | null)[] {
  if (answer.jobs === 0) {
    return [element("p", {}, "No job is known in this range."), note(answer.note)];
  }
  return [
    element("p", { class: "headline" }, headline(answer)),
    element("p", { class: "quiet" }, summary(answer)),
    againstChance(answer),
    overTime(answer),
    answer.failures.length ? failures(answer, address) : null,
    note(answer.note),
  ];
}

function headline(answer: FleetJobs): string {
  const { low, high } = answer.excess_interval;
  const interval = `${shortNumber(low ?? 0)} to ${high === null ? "no limit" : shortNumber(high)}`;
  return `${many(answer.with_event, "failed job")} had a node's event in the window before the end; chance alone gives ${shortNumber(answer.expected)}. The events explain ${shortNumber(answer.excess)} (${interval}).`;
}

function summary(answer: FleetJobs): string {
  const rate = answer.success_rate === null ? "" : ` ${percentText(answer.success_rate)} succeeded`;
  const without =
    answer.success_rate_without === null
      ? ""
      : `; without these events ${percentText(answer.success_rate_without)}`;
  return `${countText(answer.failed)} of ${many(answer.ended, "ended job")} failed, ${countText(answer.checked)} of them could be checked.${rate}${without}. p ${chanceText(answer.p)}.`;
}

/** Two bars: what was seen, and what chance would give. */
function againstChance(answer: FleetJobs): HTMLElement {
  const most = Math.max(answer.with_event, answer.expected, 1);
  const bar = (name: string, count: number, words: string): HTMLElement => {
    const made = element("span", { class: `share ${name}` });
    made.style.width = `${(count / most) * 55}%`;
    return element(
      "div",
      { class: "share-row" },
      made,
      element("span", {}, `${shortNumber(count)} ${words}`),
    );
  };
  return element(
    "div",
    { class: "against-chance", "aria-hidden": "true" },
    bar("before", answer.with_event, "with an event before the end"),
    bar("quiet-share", answer.expected, "expected by chance"),
  );
}

function overTime(answer: FleetJobs): HTMLElement {
  const most = Math.max(1, ...answer.over_time.map(total));
  const columns = answer.over_time.map((column) => {
    const parts = BLAMES.map(([name]) => {
      const part = element("span", { class: `blame ${name}` });
      part.style.height = `${(column[name] / most) * 100}%`;
      return part;
    });
    return element("div", { class: "blame-column", title: columnText(column) }, ...parts);
  });
  const keys = BLAMES.map(([name, words]) => {
    const count = answer.over_time.reduce((sum, column) => sum + column[name], 0);
    return element(
      "span",
      { class: "legend-row" },
      element("span", { class: `swatch blame ${name}` }),
      `${countText(count)} ${words}`,
    );
  });
  const [first, last] = [answer.over_time[0], answer.over_time.at(-1)];
  return element(
    "figure",
    { class: "blames" },
    element("div", { class: "blame-columns", "aria-hidden": "true" }, ...columns),
    element(
      "div",
      { class: "blame-times quiet", "aria-hidden": "true" },
      element("span", {}, first ? timeText(first.begin_us).slice(0, 16) : ""),
      element("span", {}, last ? timeText(last.begin_us + answer.step_us).slice(0, 16) : ""),
    ),
    element("figcaption", { class: "legend" }, ...keys),
  );
}

function total(column: BlamesOfTime): number {
  return column.node + column.own + column.unknown + column.not_checked;
}

function columnText(column: BlamesOfTime): string {
  return `from ${timeText(column.begin_us)}: ${BLAMES.map(([name, words]) => `${column[name]} ${words}`).join(", ")}`;
}

function failures(answer: FleetJobs, address: Address): HTMLElement {
  const heads = ["Job", "Ended", "Put down to", "Why"];
  const { body, button } = firstRows(
    answer.failures.slice(0, FIRST_ROWS),
    answer.failures.slice(FIRST_ROWS),
    (one) => line(one, address),
    "failed job",
  );
  return element(
    "div",
    {},
    element(
      "table",
      { class: "fleet-table jobs" },
      element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))),
      body,
    ),
    button,
    answer.left_out > 0 &&
      element("p", { class: "quiet" }, `${countText(answer.left_out)} older ones are not listed.`),
  );
}

function line(one: FailedJob, address: Address): HTMLElement {
  const words = BLAMES.find(([name]) => name.replace("_", " ") === one.blame)?.[1] ?? one.blame;
  return element(
    "tr",
    { class: one.blame === "node" ? "is-concentrates" : "" },
    element("th", { scope: "row", class: "mono" }, one.id),
    element(
      "td",
      { "data-head": "ended" },
      one.end_us === null ? "not known" : timeText(Math.floor(one.end_us / 1e6) * 1e6),
    ),
    element("td", { "data-head": "put down to" }, words, eventLink(one, address)),
    element("td", { "data-head": "why" }, one.sentence),
  );
}

function eventLink(one: FailedJob, address: Address): HTMLElement | null {
  if (!one.event || !one.host || one.event_us === null) return null;
  const event = { host: one.host, id: one.event, time_us: one.event_us, core: null };
  const before =
    one.seconds_before === null
      ? ""
      : `, ${secondsText(Math.abs(one.seconds_before))} ${one.seconds_before < 0 ? "after" : "before"} its end`;
  return element(
    "div",
    {},
    element("a", { href: momentLink(address, event) }, `${one.host} at ${clockText(one.event_us)}${before}`),
  );
}
