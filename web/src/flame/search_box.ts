// The search of the graph: a text or a regular expression, and how much of the time it finds.

import { element } from "../parts/element";

const LONGEST = 200; // as the server takes it
const PAUSE_MS = 200; // of typing, before it searches

export class SearchBox {
  private readonly input = element("input", {
    type: "search",
    maxlength: LONGEST,
    placeholder: "Search frames",
    "aria-label": "Search frames",
    spellcheck: "false",
    autocomplete: "off",
    oninput: () => this.later(),
  });
  private readonly regexp = element("input", { type: "checkbox", onchange: () => this.tell() });
  private readonly found = element("output", { class: "flame-found", "aria-live": "polite" });
  readonly place = element(
    "form",
    {
      class: "flame-search",
      role: "search",
      "aria-label": "Flame graph",
      onsubmit: (event: Event) => this.submit(event),
    },
    this.input,
    element("label", {}, this.regexp, "regexp"),
    this.found,
  );
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly onSearch: (text: string, regexp: boolean) => void) {}

  /** What is being typed is left alone. */
  show(text: string, regexp: boolean): void {
    if (document.activeElement !== this.input) this.input.value = text;
    this.regexp.checked = regexp;
  }

  tellFound(text: string, isError = false): void {
    this.found.textContent = text;
    this.found.classList.toggle("is-error", isError);
    this.input.setAttribute("aria-invalid", String(isError));
  }

  focus(): void {
    this.input.focus();
    this.input.select();
  }

  destroy(): void {
    clearTimeout(this.timer);
  }

  private later(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.tell(), PAUSE_MS);
  }

  private submit(event: Event): void {
    event.preventDefault();
    this.tell();
  }

  private tell(): void {
    clearTimeout(this.timer);
    this.onSearch(this.input.value, this.regexp.checked);
  }
}
