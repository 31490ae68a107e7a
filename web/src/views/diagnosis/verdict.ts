// The verdict at the top: in words and a sign, not by colour alone.

import type { Address } from "../../address";
import type { Explained } from "../../api/types";
import { element } from "../../parts/element";
import { rangeText } from "../../parts/time_text";

const SIGNS: Readonly<Record<Explained["level"], readonly [string, string]>> = {
  healthy: ["✓", "Nothing to explain"],
  trouble: ["!", "Trouble"],
  unknown: ["?", "Not known"],
};

export function verdict(explained: Explained, address: Address): HTMLElement {
  const [sign, title] = SIGNS[explained.level];
  return element(
    "header",
    { class: `verdict-box is-${explained.level}` },
    element("span", { class: "verdict-sign", "aria-hidden": "true" }, sign),
    element(
      "div",
      {},
      element("h1", {}, title),
      element("p", {}, explained.verdict),
      element("p", { class: "quiet" }, `${address.host}, ${rangeText(address.begin, address.end)}`),
    ),
  );
}
