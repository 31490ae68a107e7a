// Which stretch of time: presets, earlier and later, or two times typed in.

import type { Viewport } from "../../heatmap/viewport";
import { element } from "../../parts/element";
import { DAY_US, durationText, HOUR_US, inputText, inputTime } from "../../parts/time_text";

export interface RangeBar {
  readonly element: HTMLElement;
  show(view: Viewport): void;
}

export interface RangeActions {
  last(lengthUs: number): void;
  all(): void;
  pan(part: number): void;
  set(view: Viewport): void;
}

const PRESETS: [string, number][] = [
  ["1 h", HOUR_US],
  ["12 h", 12 * HOUR_US],
  ["24 h", DAY_US],
];

function timeInput(name: string, onchange: () => void): HTMLInputElement {
  const label = `${name}, UTC, as 2026-11-16 17:03:22`;
  return element("input", {
    class: "time",
    "aria-label": label,
    title: label,
    maxlength: 20,
    autocomplete: "off",
    onchange,
  });
}

export function rangeBar(actions: RangeActions): RangeBar {
  const begin = timeInput("From", read);
  const end = timeInput("To", read);
  const length = element("span", { class: "quiet length" });

  function read(): void {
    const [beginUs, endUs] = [inputTime(begin.value), inputTime(end.value)];
    const isRange = beginUs > 0 && beginUs < endUs;
    for (const input of [begin, end]) input.setAttribute("aria-invalid", String(!isRange));
    if (isRange) actions.set({ beginUs, endUs });
  }
  const button = (text: string, name: string, act: () => void): HTMLElement =>
    element("button", { type: "button", "aria-label": name, onclick: act }, text);

  return {
    element: element(
      "div",
      { class: "group", role: "group", "aria-label": "Time" },
      button("◀", "Earlier", () => actions.pan(-0.5)),
      button("▶", "Later", () => actions.pan(0.5)),
      ...PRESETS.map(([text, us]) => button(text, `Last ${text}`, () => actions.last(us))),
      button("All", "All that is recorded", actions.all),
      begin,
      end,
      length,
    ),
    show(view) {
      if (document.activeElement !== begin) begin.value = inputText(view.beginUs);
      if (document.activeElement !== end) end.value = inputText(view.endUs);
      for (const input of [begin, end]) input.removeAttribute("aria-invalid");
      length.textContent = durationText(view.endUs - view.beginUs);
    },
  };
}
