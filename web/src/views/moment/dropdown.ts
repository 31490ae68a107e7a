// A panel that opens under its button, and closes with Escape or a click elsewhere.

import { element } from "../../parts/element";

export interface Dropdown {
  readonly root: HTMLDetailsElement;
  readonly panel: HTMLElement;
  rename(label: string): void;
}

export function dropdown(label: string, signal: AbortSignal): Dropdown {
  const summary = element("summary", { class: "button" }, label);
  const panel = element("div", { class: "drop-panel" });
  const root = element("details", { class: "drop" }, summary, panel);
  document.addEventListener(
    "pointerdown",
    (event) => {
      if (event.target instanceof Node && !root.contains(event.target)) root.open = false;
    },
    { signal },
  );
  root.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !root.open) return;
    event.stopPropagation();
    root.open = false;
    summary.focus();
  });
  return { root, panel, rename: (text) => (summary.textContent = text) };
}
