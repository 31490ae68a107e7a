// What ran in the seconds before the events of many hosts, against quiet seconds of the same hosts.

import type { FleetCulprits, FleetSuspect } from "../../api/types";
import { element } from "../../parts/element";
import { chanceText, many, percentText, timesText } from "./numbers";
import { note } from "./where_table";

export function culpritTable(answer: FleetCulprits): (Node | null)[] {
  const said = answer.culprit
    ? element(
        "p",
        { class: "headline" },
        `${nameOf(answer.culprit)} stood out on ${answer.culprit.hosts} of ${many(answer.culprit.of_hosts, "host")}.`,
      )
    : element("p", { class: "headline" }, "Nothing stands out on more hosts than chance would have it.");
  const compared = `${answer.compared} of ${many(answer.events, "event")} on ${many(answer.hosts, "host")} could be compared with quiet seconds of the same host.`;
  return [
    said,
    element("p", { class: "quiet" }, compared),
    answer.suspects.length ? table(answer.suspects, answer.culprit) : null,
    notCompared(answer),
    note(answer.note),
  ];
}

function nameOf(one: FleetSuspect): string {
  const way = one.way === "inclusive" ? " and what it calls" : "";
  if (one.process && one.function) return `${one.process} in ${one.function}${way}`;
  return one.process || `${one.function}${way}`;
}

function table(suspects: FleetSuspect[], culprit: FleetSuspect | null): HTMLElement {
  const heads = ["What", "Share of the cores' time", "Against quiet", "Stood out in", "q"];
  const most = Math.max(...suspects.map((one) => one.share), 0.01);
  return element(
    "table",
    { class: "fleet-table" },
    element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))),
    element(
      "tbody",
      {},
      ...suspects.map((one) => line(one, most, culprit !== null && nameOf(one) === nameOf(culprit))),
    ),
  );
}

function line(one: FleetSuspect, most: number, isCulprit: boolean): HTMLElement {
  return element(
    "tr",
    { class: `${isCulprit ? "is-concentrates" : ""} ${one.is_significant ? "" : "is-not-shown"}` },
    element("th", { scope: "row", class: "mono" }, nameOf(one)),
    element("td", { class: "drawn" }, shares(one, most)),
    element(
      "td",
      { "data-head": "against quiet" },
      one.lift === null ? "never in quiet seconds" : timesText(one.lift),
    ),
    element(
      "td",
      { "data-head": "stood out in" },
      `${one.events} of ${many(one.of_events, "event")}, ${one.hosts} of ${many(one.of_hosts, "host")}`,
    ),
    element("td", { "data-head": "q" }, chanceText(one.q)),
  );
}

function shares(one: FleetSuspect, most: number): HTMLElement {
  const bar = (name: string, share: number, words: string): HTMLElement => {
    const made = element("span", { class: `share ${name}` });
    made.style.width = `${(share / most) * 60}%`;
    return element(
      "div",
      { class: "share-row" },
      made,
      element("span", {}, `${percentText(share)} ${words}`),
    );
  };
  return element(
    "div",
    {},
    bar("before", one.share, "before"),
    bar("quiet-share", one.quiet_share, "in quiet seconds"),
  );
}

function notCompared(answer: FleetCulprits): HTMLElement | null {
  if (!answer.not_compared.length) return null;
  const lines = answer.not_compared.map((one) => element("li", {}, `${one.host}, ${one.event}: ${one.why}`));
  const count = answer.events - answer.compared;
  return element(
    "details",
    {},
    element("summary", {}, `${many(count, "event")} could not be compared`),
    element("ul", {}, ...lines),
  );
}
