// The elements of the scope: names of the rows, picture, wall clock, legend, and what is said instead of it.

import { element } from "../../parts/element";

export interface ScopeFrame {
  readonly heat: HTMLElement;
  readonly clock: HTMLElement;
  readonly legend: HTMLElement;
  readonly says: HTMLElement; // for screen readers
  settle(state: HTMLElement | null): void; // null: the picture
}

export function scopeFrame(place: HTMLElement): ScopeFrame {
  const names = ["1 s", "½", "0"].map((text) => element("span", {}, text));
  const heat = element("div", { class: "scope-heat" });
  const clock = element("div", { class: "scope-clock" });
  const legend = element("div", { class: "scope-legend" });
  const message = element("div", { class: "scope-message", hidden: true });
  const says = element("p", { id: "scope-says", class: "for-readers" });
  const rows = element("div", { class: "scope-rows", "aria-hidden": "true" }, ...names);
  place.append(rows, heat, clock, legend, message, says);
  return {
    heat,
    clock,
    legend,
    says,
    settle(state) {
      place.classList.remove("is-outdated");
      message.hidden = state === null;
      message.replaceChildren(...(state ? [state] : []));
    },
  };
}
