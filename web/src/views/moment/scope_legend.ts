// What the colours of the scope mean, and what was sampled there.

import type { Address } from "../../address";
import type { Scope } from "../../api/types";
import { legendGradient } from "../../heatmap/scope_colours";
import type { Page } from "../../page";
import { element } from "../../parts/element";
import { onTheme, theme } from "../../parts/theme";
import { writtenCount, writtenLength } from "./words";

export interface ScopeLegend {
  follow(address: Address): void;
  show(scope: Scope, mostMatched: number, hasGaps: boolean): void;
}

const ROWS = [10, 20, 25, 50, 100];

export function scopeLegend(place: HTMLElement, page: Page): ScopeLegend {
  const heat = element("span", { class: "ramp" });
  const lit = element("span", { class: "ramp" });
  const heatText = element("span");
  const litText = element("span");
  const litPart = element("span", { class: "group", hidden: true }, "matching 1", lit, litText);
  const options = ROWS.map((count) => element("option", { value: count }, String(count)));
  const rows = element("select", { onchange: () => page.go({ rows: Number(rows.value) }) }, ...options);
  const samples = element("span", { class: "quiet" });
  const hatched = element("span", { class: "swatch hatched" });
  const gaps = element("span", { class: "group", hidden: true }, hatched, "not recorded");
  place.append(
    element("span", { class: "group" }, "samples 1", heat, heatText),
    litPart,
    gaps,
    samples,
    element("label", { class: "toggle" }, "rows a second", rows),
  );

  function paint(): void {
    heat.style.backgroundImage = legendGradient("heat", theme());
    lit.style.backgroundImage = legendGradient("lit", theme());
  }
  onTheme(paint, page.signal);
  paint();

  return {
    follow: (address) => (rows.value = String(address.rows)),
    show(scope, mostMatched, hasGaps) {
      gaps.hidden = !hasGaps;
      heatText.textContent = `${writtenCount(scope.most)} in ${writtenLength(1_000_000 / scope.rows)}`;
      litPart.hidden = scope.matched === null;
      litText.textContent = mostMatched ? writtenCount(mostMatched) : "none found";
      samples.textContent = samplesText(scope);
    },
  };
}

export function samplesText({ samples, idle, unknown, lost }: Scope): string {
  const parts = [`${writtenCount(samples)} samples`];
  if (idle) parts.push(`${writtenCount(idle)} idle`);
  if (unknown) parts.push(`${writtenCount(unknown)} without a known stack`);
  if (lost === null) parts.push("how many were lost is not known");
  else if (lost) parts.push(`${writtenCount(lost)} lost`);
  return parts.join(", ");
}
