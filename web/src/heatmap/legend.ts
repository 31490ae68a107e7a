// What the colours of the core heatmap mean.

import type { Quantity } from "../address";
import { element } from "../parts/element";
import { theme } from "../parts/theme";
import { cssColour, heatStops, kindStops } from "./colours";
import type { Colour } from "./colours";

function bar(stops: readonly Colour[], text: string): HTMLElement {
  const swatch = element("span", { class: "swatch" });
  swatch.style.background = `linear-gradient(to right, ${stops.map(cssColour).join(", ")})`;
  return element("span", { class: "legend-row" }, swatch, text);
}

export function legend(quantity: Quantity): HTMLElement {
  const rows =
    quantity === "busy"
      ? ["user", "system", "softirq", "steal"].map((kind) => bar(kindStops(kind, theme()), `mostly ${kind}`))
      : [bar(heatStops(theme()), `0 to 100 % ${quantity}`)];
  const hatched = element(
    "span",
    { class: "legend-row" },
    element("span", { class: "swatch hatched" }),
    "not recorded",
  );
  return element("div", { class: "legend" }, ...rows, hatched);
}
