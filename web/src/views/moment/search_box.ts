// The search of the moment view: text or regexp; what the server says of a wrong one stands beside it.

import type { Address } from "../../address";
import { failureOf } from "../../api/failure";
import { element } from "../../parts/element";
import type { Page } from "../../page";

export interface SearchBox {
  readonly root: HTMLElement;
  follow(address: Address): void;
  focus(): void;
  complain(what: string): void; // "" takes it back
}

const PAUSE_MS = 350;

export function searchBox(page: Page): SearchBox {
  const input = element("input", {
    type: "search",
    maxlength: 200,
    placeholder: "function, process or thread",
    title: "What matches lights up in the heatmap and in the flame graph",
    "aria-label": "Search stacks: what matches lights up in the heatmap and in the flame graph",
    spellcheck: "false",
    autocomplete: "off",
    "aria-describedby": "search-says",
  });
  const regexp = toggle("regexp", () => search("push"));
  const only = toggle("only matching", () => search("push"));
  const says = element("span", { id: "search-says", class: "search-says", role: "status" });
  let timer = 0;

  /** All of it: what was typed just before a box is ticked counts too. */
  function search(how: "push" | "replace"): void {
    clearTimeout(timer);
    timer = 0;
    const { search: before, mark } = page.address;
    const change = { search: input.value, regexp: regexp.box.checked, onlyMatching: only.box.checked };
    // A highlight would hide what is found.
    page.go({ ...change, mark: change.search && change.search !== before ? "" : mark }, how);
  }
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => search("replace"), PAUSE_MS);
  });
  input.addEventListener("keydown", (event) => event.key === "Enter" && search("push"));
  page.signal.addEventListener("abort", () => clearTimeout(timer));

  return {
    root: element("div", { class: "group search", role: "search" }, input, regexp.root, only.root, says),
    follow(address) {
      if (!timer && input.value !== address.search) input.value = address.search; // else it is being typed
      regexp.box.checked = address.regexp;
      only.box.checked = address.onlyMatching;
    },
    focus() {
      input.focus();
      input.select();
    },
    complain(what) {
      says.textContent = what;
      input.setAttribute("aria-invalid", String(what !== ""));
    },
  };
}

/** The server refuses a search before anything else of a question that the page itself made. */
export function isWrongSearch(error: unknown, address: Address): boolean {
  return failureOf(error).status === 400 && address.search !== "";
}

export function toggle(label: string, onchange: () => void): { root: HTMLElement; box: HTMLInputElement } {
  const box = element("input", { type: "checkbox", onchange });
  return { box, root: element("label", { class: "toggle" }, box, label) };
}
