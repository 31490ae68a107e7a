// Which differences go with failing hosts: odds ratios with their intervals, and who has what.

import type { FleetDifference, FleetDrift } from "../../api/types";
import { element } from "../../parts/element";
import { firstRows } from "./first_rows";
import { intervalBar, scaleAxis } from "./interval_bar";
import { chanceText, intervalText, labelText, many, timesText } from "./numbers";
import { ratioScale } from "./scale";
import type { Ranged, Scale } from "./scale";
import { note } from "./where_table";

const FIRST_ROWS = 6;

export function driftTable(answer: FleetDrift): (Node | null)[] {
  const groups = answer.groups.map((group) => `${group.name}: ${many(group.hosts, "host")}`).join(", ");
  const summary = element("p", { class: "quiet" }, `${groups}. ${many(answer.facts, "fact")} compared.`);
  if (!answer.differences.length) {
    return [
      summary,
      element("p", { class: "headline" }, "No difference between the groups."),
      note(answer.note),
    ];
  }
  const telling = answer.differences.filter((one) => one.matters);
  const headline = telling[0] ? telling[0].summary : "No difference matters more than chance would have it.";
  const first = answer.differences.filter((one, at) => one.matters || at < FIRST_ROWS);
  const scale = ratioScale(first.map(ranged));
  const rest = answer.differences.filter((one) => !first.includes(one));
  const { body, button } = firstRows(first, rest, (one) => line(one, scale, answer), "difference");
  return [
    element("p", { class: "headline" }, headline),
    summary,
    element("table", { class: "fleet-table drift" }, element("thead", {}, heads(scale)), body),
    button,
    note(answer.note),
  ];
}

function ranged(one: FleetDifference): Ranged {
  return { value: one.odds_ratio, low: one.interval?.low ?? null, high: one.interval?.high ?? null };
}

function heads(scale: Scale): HTMLElement {
  const drawn = element(
    "th",
    { scope: "col", class: "drawn" },
    element("span", { class: "for-readers" }, "Odds ratio, drawn"),
    scaleAxis(scale),
  );
  const [fact, odds, hosts] = ["Difference", "Odds ratio", "Hosts with each value"].map((head) =>
    element("th", { scope: "col" }, head),
  );
  return element("tr", {}, fact, drawn, odds, hosts);
}

function line(one: FleetDifference, scale: Scale, answer: FleetDrift): HTMLElement {
  return element(
    "tr",
    { class: one.matters ? "is-concentrates" : "is-not-shown" },
    element(
      "th",
      { scope: "row" },
      element("span", { class: "mono" }, labelText(one.fact)),
      element("div", { class: "standing" }, `${one.matters ? "▲ " : "· "}${one.relevance}`),
      element("div", { class: "quiet" }, because(one)),
    ),
    element(
      "td",
      { class: "drawn" },
      one.interval ? intervalBar(scale, ranged(one), one.matters ? "concentrates" : "", 1) : null,
    ),
    element(
      "td",
      { "data-head": "odds ratio" },
      element("b", {}, one.odds_ratio === null ? "" : timesText(one.odds_ratio)),
      element("span", { class: "quiet" }, ` ${intervalText(one.interval)}`),
      element("div", { class: "quiet" }, `q ${chanceText(one.q)}`),
    ),
    element("td", { "data-head": "hosts" }, valueList(one, answer)),
  );
}

function because(one: FleetDifference): string {
  const said = [one.why];
  if (one.explained_by.length) said.push(`follows ${one.explained_by.map(labelText).join(", ")}`);
  if (one.cannot_tell_apart_from.length) {
    said.push(`cannot be told apart from ${one.cannot_tell_apart_from.map(labelText).join(", ")}`);
  }
  return said.filter(Boolean).join("; ");
}

function valueList(one: FleetDifference, answer: FleetDrift): HTMLElement {
  const rows = one.values.map(({ value, hosts }) => {
    const counts = hosts.map((count, at) => `${count} ${answer.groups[at]?.name ?? ""}`).join(", ");
    return element(
      "li",
      {},
      element("span", { class: "mono" }, value ?? "not there"),
      element("span", { class: "quiet" }, ` ${counts}`),
    );
  });
  return element("ul", { class: "plain" }, ...rows);
}
