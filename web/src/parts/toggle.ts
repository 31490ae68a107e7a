// A button that is on or off.

import { element } from "./element";

export interface Toggle {
  readonly element: HTMLButtonElement;
  show(isOn: boolean): void;
}

export function toggle(text: string, title: string, onToggle: (isOn: boolean) => void): Toggle {
  const button = element("button", { type: "button", title, "aria-pressed": "false" }, text);
  button.addEventListener("click", () => onToggle(button.getAttribute("aria-pressed") !== "true"));
  return { element: button, show: (isOn) => button.setAttribute("aria-pressed", String(isOn)) };
}
