// What A and B are: A is what one looks at, B is what it is compared with.

import type { Address } from "../../address";
import type { RecordedEvent } from "../../api/types";
import type { Side } from "../../heatmap/brush";
import { element } from "../../parts/element";
import type { Page } from "../../page";
import { addressOfEvent } from "./event_steps";
import { button } from "./range_bar";
import { clockSpan } from "./words";

export interface SelectionBar {
  side(): Side; // what a drag selects
  follow(address: Address, events: readonly RecordedEvent[]): void;
}

export function selectionBar(place: HTMLElement, page: Page): SelectionBar {
  let side: Side = "a";
  let chosen: RecordedEvent | undefined;
  const sideButtons = { a: sideButton("a"), b: sideButton("b") };
  const textA = element("span", { class: "selected-a" });
  const textB = element("span", { class: "selected-b" });
  const whole = button("Whole range", "Select the whole range as A", () => page.go({ a: null, zoom: "" }));
  const before = button("5 s before the event", "Select the 5 s before the event as A", () => {
    if (chosen) page.go(addressOfEvent(page.address, chosen));
  });
  const compare = element(
    "select",
    { "aria-label": "B: compare with", onchange: () => compareWith(compare.value) },
    element("option", { value: "quiet" }, "quiet seconds"),
    element("option", { value: "none" }, "nothing"),
    element("option", { value: "brushed" }, "a selection"),
  );

  function sideButton(which: Side): HTMLButtonElement {
    const title =
      which === "a" ? "A drag selects A" : "A drag selects B, the baseline (also Ctrl or Alt with a drag)";
    return button(which.toUpperCase(), title, () => take(which));
  }

  function take(which: Side): void {
    side = which;
    sideButtons.a.setAttribute("aria-pressed", String(which === "a"));
    sideButtons.b.setAttribute("aria-pressed", String(which === "b"));
  }

  function compareWith(value: string): void {
    if (value === "quiet") page.go({ b: "quiet" });
    else if (value === "none") page.go({ b: null });
    else {
      take("b");
      page.announce("Drag in the heatmap to select B.");
      textB.textContent = "drag in the heatmap";
    }
  }

  place.append(
    element(
      "div",
      { class: "group", role: "group", "aria-label": "Drag selects" },
      "Drag selects",
      sideButtons.a,
      sideButtons.b,
    ),
    element("div", { class: "group" }, element("b", { class: "letter-a" }, "A"), textA, whole, before),
    element("div", { class: "group" }, element("b", { class: "letter-b" }, "B"), compare, textB),
  );
  take("a");

  return {
    side: () => side,
    follow(address, events) {
      chosen = events.find(({ id }) => id === address.event);
      before.disabled = !chosen;
      whole.disabled = address.a === null;
      textA.textContent = address.a ? clockSpan(address.a) : "the whole range";
      compare.value = Array.isArray(address.b) ? "brushed" : (address.b ?? "none");
      textB.textContent = Array.isArray(address.b) ? clockSpan(address.b) : "";
    },
  };
}
