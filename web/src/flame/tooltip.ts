// A frame's details beside the mouse.

import { element } from "../parts/element";
import type { Details } from "./details";

const DISTANCE = 14; // pixels from the mouse

export class Tooltip {
  readonly place = element("div", { class: "flame-tooltip", role: "tooltip", hidden: true });
  private told: Details | null = null;

  show(details: Details, x: number, y: number): void {
    if (details !== this.told) this.fill(details);
    this.place.hidden = false;
    const { offsetWidth, offsetHeight } = this.place;
    const [right, below] = [x + DISTANCE, y + DISTANCE];
    const left = right + offsetWidth > innerWidth ? x - DISTANCE - offsetWidth : right;
    const top = below + offsetHeight > innerHeight ? y - DISTANCE - offsetHeight : below;
    this.place.style.left = `${Math.max(left, 0)}px`;
    this.place.style.top = `${Math.max(top, 0)}px`;
  }

  hide(): void {
    this.place.hidden = true;
  }

  private fill(details: Details): void {
    this.told = details;
    const rows = details.rows.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]);
    this.place.replaceChildren(element("strong", {}, details.name), element("dl", {}, ...rows));
  }
}
