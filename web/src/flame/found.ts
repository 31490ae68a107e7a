// What stands out in the graph, in words: how much a search finds, or what is highlighted and how to end that.

import { element } from "../parts/element";
import type { Names } from "./lit";

export class Found {
  private readonly text = element("output", { class: "flame-found", "aria-live": "polite" });
  private readonly clear: HTMLButtonElement;
  readonly place: HTMLElement;

  constructor(onClear: () => void) {
    const title = "Nothing highlighted (Escape in the graph)";
    this.clear = element("button", { type: "button", title, hidden: true, onclick: onClear }, "Clear");
    this.place = element("div", { class: "flame-stands-out" }, this.text, this.clear);
  }

  tell(text: string, isError = false): void {
    this.clear.hidden = true;
    this.text.textContent = text;
    this.text.classList.toggle("is-error", isError);
  }

  tellMark(names: Names, found: string): void {
    const name = [names.process, names.function].filter(Boolean).join(" in ");
    this.tell(`Highlighted: ${name}, ${found}`);
    this.clear.hidden = false;
  }
}
