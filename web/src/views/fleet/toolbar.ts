// The controls over the fleet: which time, which events, grouped by what, coloured by what.

import { HEATS } from "../../address";
import type { Address } from "../../address";
import type { Fleet } from "../../api/types";
import type { Page } from "../../page";
import { choice } from "../../parts/choice";
import { element } from "../../parts/element";
import { DAY_US, inputText, inputTime, timeText } from "../../parts/time_text";
import { countText, labelText, many } from "./numbers";
import { lastPart, LONGEST_US } from "./range";

const PRESETS: readonly (readonly [string, number])[] = [
  ["24 h", DAY_US],
  ["7 d", 7 * DAY_US],
  ["35 d", LONGEST_US],
];
export const DEFAULT_KIND = "nic-reset";
const HEAT_NAMES = { rate: "rate", hosts: "hosts affected" } as const;

export interface FleetToolbar {
  readonly element: HTMLElement;
  show(address: Address, range: readonly [number, number], label: string): void;
}

export function fleetToolbar(page: Page, fleet: Fleet): FleetToolbar {
  const times = rangeInputs(page);
  const kinds = element("select", { id: "fleet-kind", onchange: () => chooseKind(page, kinds.value) });
  const labels = element("select", {
    id: "fleet-label",
    onchange: () => page.go({ label: labels.value, group: "", a: null }),
  });
  const heats = choice(
    "Colour",
    HEATS.map((heat) => [heat, HEAT_NAMES[heat]] as const),
    (heat) => page.go({ heat }, "replace"),
  );
  const presets = PRESETS.map(([text, us]) =>
    element("button", { type: "button", "aria-label": `Last ${text}`, onclick: () => last(us) }, text),
  );

  function last(lengthUs: number): void {
    const [begin, end] = lastPart(fleet, lengthUs);
    page.go({ begin, end, a: null });
  }

  return {
    element: element(
      "div",
      { class: "toolbar" },
      named("Events", kinds),
      named("by", labels),
      element("div", { class: "group", role: "group", "aria-label": "Time" }, ...presets, ...times.inputs),
      heats.element,
      newestNote(fleet),
    ),
    show(address, range, label) {
      times.show(range);
      kinds.replaceChildren(...kindOptions(fleet, address.kinds[0] ?? DEFAULT_KIND));
      labels.replaceChildren(...labelOptions(fleet, label));
      heats.show(address.heat);
    },
  };
}

function named(text: string, select: HTMLSelectElement): HTMLElement {
  return element("div", { class: "group" }, element("label", { for: select.id }, text), select);
}

function chooseKind(page: Page, kind: string): void {
  page.go({ kinds: kind === DEFAULT_KIND ? [] : [kind], a: null });
}

function kindOptions(fleet: Fleet, chosen: string): HTMLOptionElement[] {
  const known = new Map(Object.entries(fleet.kinds));
  const all = [...new Set([chosen, DEFAULT_KIND, ...known.keys()])];
  return all.map((kind) =>
    element(
      "option",
      { value: kind, selected: kind === chosen },
      `${kind} (${countText(known.get(kind) ?? 0)})`,
    ),
  );
}

function labelOptions(fleet: Fleet, chosen: string): HTMLOptionElement[] {
  const values = new Map(fleet.labels.map((label) => [label.name, label.values]));
  return [...new Set([...values.keys(), chosen])].filter(Boolean).map((label) => {
    const count = values.get(label);
    const text = count === undefined ? labelText(label) : `${labelText(label)} (${count})`;
    return element("option", { value: label, selected: label === chosen }, text);
  });
}

function rangeInputs(page: Page): {
  inputs: HTMLInputElement[];
  show(range: readonly [number, number]): void;
} {
  const inputs = ["From", "To"].map((name) => {
    const label = `${name}, UTC, as 2026-11-16 17:00`;
    return element("input", {
      class: "time",
      "aria-label": label,
      title: label,
      maxlength: 20,
      autocomplete: "off",
      onchange: read,
    });
  });
  function read(): void {
    const [begin = 0, end = 0] = inputs.map((input) => inputTime(input.value));
    const isRange = begin > 0 && begin < end && end - begin <= LONGEST_US;
    for (const input of inputs) input.setAttribute("aria-invalid", String(!isRange));
    if (isRange) page.go({ begin, end, a: null });
  }
  return {
    inputs,
    show(range) {
      inputs.forEach((input, at) => {
        if (document.activeElement !== input) input.value = inputText(range[at]!).slice(0, 16);
        input.removeAttribute("aria-invalid");
      });
    },
  };
}

/** How old the tables are: without `ingest` nothing new comes. */
function newestNote(fleet: Fleet): HTMLElement {
  const rejected = fleet.rejected_parts ? `, ${many(fleet.rejected_parts, "part")} rejected` : "";
  const text = `${many(fleet.hosts, "host")}, until ${timeText(fleet.end_us).slice(0, 16)}Z${rejected}`;
  return element("span", { class: "quiet", title: fleet.place }, text);
}
