// A row of buttons of which one is chosen.

import { element } from "./element";

export interface Choice<Value extends string> {
  readonly element: HTMLElement;
  show(value: Value): void;
}

export function choice<Value extends string>(
  name: string,
  values: readonly (readonly [Value, string])[],
  onChoose: (value: Value) => void,
): Choice<Value> {
  const buttons = new Map(
    values.map(([value, text]) => [
      value,
      element("button", { type: "button", "data-value": value, onclick: () => onChoose(value) }, text),
    ]),
  );
  return {
    element: element("div", { class: "group", role: "group", "aria-label": name }, ...buttons.values()),
    show(chosen) {
      for (const [value, button] of buttons) button.setAttribute("aria-pressed", String(value === chosen));
    },
  };
}
