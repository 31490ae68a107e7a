// The controls over the overview: which time, which quantity, which order, and what dragging does.

import { QUANTITIES } from "../../address";
import type { Address } from "../../address";
import type { Viewport } from "../../heatmap/viewport";
import type { Page } from "../../page";
import { choice } from "../../parts/choice";
import { element } from "../../parts/element";
import { toggle } from "../../parts/toggle";
import { rangeBar } from "./range_bar";
import type { RangeActions } from "./range_bar";

export interface Toolbar {
  readonly element: HTMLElement;
  show(view: Viewport): void;
  follow(address: Address): void;
  isChoosing(): boolean; // dragging chooses seconds, instead of panning
}

export function toolbar(page: Page, actions: RangeActions, onChoosing: (isOn: boolean) => void): Toolbar {
  const range = rangeBar(actions);
  const quantities = choice(
    "Colour",
    QUANTITIES.map((name) => [name, name] as const),
    (quantity) => page.go({ quantity }, "replace"),
  );
  const worstFirst = toggle("worst first", "The cores with most of it first, or by number", (isOn) =>
    page.go({ order: isOn ? "worst" : "number" }, "replace"),
  );
  const choosing = toggle("choose", "Dragging chooses seconds to open, as with Shift, or pans", choose);
  let isChoosing = false;

  function choose(isOn: boolean): void {
    isChoosing = isOn;
    choosing.show(isOn);
    onChoosing(isOn);
  }

  const toggles = element("div", { class: "group" }, worstFirst.element, choosing.element);
  return {
    element: element("div", { class: "toolbar" }, range.element, quantities.element, toggles),
    show: range.show,
    follow({ quantity, order }) {
      quantities.show(quantity);
      worstFirst.show(order === "worst");
    },
    isChoosing: () => isChoosing,
  };
}
