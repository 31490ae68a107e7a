// Did a roll-out help: the rates of changed and of other hosts, before and after, and the ratio of their ratios.

import type { Fleet, FleetFixed, GroupPeriod } from "../../api/types";
import type { Page } from "../../page";
import { element } from "../../parts/element";
import { timeText } from "../../parts/time_text";
import { intervalBar, scaleAxis } from "./interval_bar";
import { intervalText, many, percentText, ratePer1000, rateText, timesText } from "./numbers";
import { ratioScale } from "./scale";
import { note } from "./where_table";

const VERDICTS: Record<string, string> = {
  better: "✓ It helped",
  unchanged: "· It changed nothing",
  worse: "▲ It made things worse",
  inconclusive: "? It cannot be told yet",
};

/** The change of an address: label=value; null where it is none. */
export function parseChange(text: string): { label: string; value: string } | null {
  const [, label, value] = /^([^=]+\/[^=]*?)=(.*)$/s.exec(text) ?? [];
  return label && value ? { label, value } : null;
}

/** What was rolled out: any fact that hosts came to have. */
export function changeForm(page: Page, fleet: Fleet): HTMLElement {
  const names = fleet.labels.map((label) => element("option", { value: `${label.name}=` }));
  const input = element("input", {
    id: "change",
    list: "changes",
    placeholder: "units/ecs.service/enabled=disabled",
    autocomplete: "off",
    maxlength: 1000,
    value: page.address.change,
  });
  return element(
    "form",
    {
      class: "change-form",
      onsubmit: (event: SubmitEvent) => {
        event.preventDefault();
        page.go({ change: input.value.trim() });
      },
    },
    element("label", { for: "change" }, "What hosts came to have: fact=value"),
    input,
    element("datalist", { id: "changes" }, ...names),
    element("button", { type: "submit", class: "primary" }, "Did it help?"),
  );
}

export function fixedPicture(answer: FleetFixed): (Node | null)[] {
  const ratio = { value: answer.ratio_of_ratios, low: answer.interval.low, high: answer.interval.high };
  const scale = ratioScale([ratio]);
  return [
    element("p", { class: `headline is-${answer.verdict}` }, VERDICTS[answer.verdict] ?? answer.verdict),
    element("p", { class: "quiet" }, `${answer.what}, from ${timeText(answer.at_us)} on.`),
    slopes(answer),
    element(
      "div",
      { class: "ratio-of-ratios" },
      element("div", { class: "drawn" }, scaleAxis(scale), intervalBar(scale, ratio, "concentrates", 1)),
      element(
        "p",
        {},
        "Against the control: ",
        element("b", {}, timesText(answer.ratio_of_ratios)),
        ` (${intervalText(answer.interval)}) the rate. Better with ${sure(answer.p_better)}, halved with ${sure(answer.p_halved)}.`,
      ),
    ),
    answer.days_needed === null
      ? null
      : element(
          "p",
          {},
          `${many(Math.ceil(answer.days_needed), "more day")} without an event would make it sure.`,
        ),
    note(answer.note),
  ];
}

function sure(p: number | null): string {
  if (p === null) return "a probability that is not known";
  return p > 0.999 ? "more than 99.9 %" : percentText(p);
}

/** Rates before and after as bars, and as a table for whoever wants the counts. */
function slopes(answer: FleetFixed): HTMLElement {
  const rows: [string, GroupPeriod, GroupPeriod, number | null, string][] = [
    ["changed hosts", answer.changed_before, answer.changed_after, answer.ratio, "before"],
    ["control", answer.control_before, answer.control_after, answer.control_ratio, "quiet-share"],
  ];
  const rates = rows
    .flatMap(([, before, after]) => [before, after])
    .map((one) => ratePer1000(one.episodes, one.host_hours) ?? 0);
  const most = Math.max(...rates, 1e-9);
  const heads = ["Hosts", "Before", "After", "After / before"];
  return element(
    "table",
    { class: "fleet-table fixed" },
    element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))),
    element(
      "tbody",
      {},
      ...rows.map(([name, before, after, ratio, tone]) =>
        element(
          "tr",
          {},
          element("th", { scope: "row" }, name),
          element("td", { "data-head": "before" }, period(before, most, tone)),
          element("td", { "data-head": "after" }, period(after, most, tone)),
          element("td", { "data-head": "after / before" }, element("b", {}, timesText(ratio))),
        ),
      ),
    ),
  );
}

function period(one: GroupPeriod, most: number, tone: string): HTMLElement {
  const bar = element("span", { class: `share ${tone}`, "aria-hidden": "true" });
  bar.style.width = `${((ratePer1000(one.episodes, one.host_hours) ?? 0) / most) * 100}%`;
  return element(
    "div",
    {},
    element("div", { class: "share-row" }, bar),
    element("b", {}, rateText(one.episodes, one.host_hours)),
    element(
      "span",
      { class: "quiet" },
      ` per 1,000 host-hours: ${many(one.episodes, "episode")} on ${many(one.hosts, "host")}`,
    ),
  );
}
