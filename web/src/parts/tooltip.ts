// One tooltip for the whole page; it only repeats what is also said elsewhere or announced.

import { element } from "./element";

const GAP_PIXELS = 14;
let tip: HTMLElement | null = null;

export function showTooltip(text: string, x: number, y: number): void {
  tip ??= document.body.appendChild(element("div", { class: "tooltip", "aria-hidden": "true" }));
  tip.hidden = false;
  tip.textContent = text;
  const box = tip.getBoundingClientRect();
  const left = x + GAP_PIXELS + box.width > innerWidth ? x - GAP_PIXELS - box.width : x + GAP_PIXELS;
  const top = y + GAP_PIXELS + box.height > innerHeight ? y - GAP_PIXELS - box.height : y + GAP_PIXELS;
  tip.style.transform = `translate(${Math.max(4, left)}px, ${Math.max(4, top)}px)`;
}

export function hideTooltip(): void {
  if (tip) tip.hidden = true;
}
