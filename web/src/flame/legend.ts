// What the colours of the graph mean.

import { element } from "../parts/element";
import { css, KINDS, EQUAL, LESS, MORE, type Rgb } from "./colours";
import { points } from "./shares";

const KIND_NAMES: readonly (readonly [string, string])[] = [
  ["kernel", "kernel"],
  ["user", "program"],
  ["jit", "compiled at run time"],
  ["unknown", "no name"],
];

export function legend(largestChange: number | null): HTMLElement {
  const keys =
    largestChange === null
      ? KIND_NAMES.map(([kind, name]) => key(KINDS[kind]!, name))
      : [
          key(LESS, `less than in the baseline, up to ${points(-largestChange)}`),
          key(EQUAL, "as much"),
          key(MORE, `more, up to ${points(largestChange)}`),
        ];
  return element("ul", { class: "flame-legend", "aria-label": "Colours" }, ...keys);
}

function key(colour: Rgb, name: string): HTMLElement {
  const patch = element("span", { class: "flame-key", "aria-hidden": "true" });
  patch.style.background = css(colour);
  return element("li", {}, patch, name);
}
