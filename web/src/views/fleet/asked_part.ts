// A part of the view that asks for itself: how long it takes, what went wrong, and what came of it.

import { isAbort } from "../../api/failure";
import type { Page } from "../../page";
import { element } from "../../parts/element";
import { failureState } from "../../parts/states";

export interface AskedPart {
  readonly element: HTMLElement;
  load(): void; // asks, in place of what was asked before
}

export interface Asking<Answer> {
  title: string;
  name: string; // class and id
  waiting: string; // what is said meanwhile
  ask(signal: AbortSignal): Promise<Answer>;
  show(answer: Answer): (Node | null)[];
  heard?(answer: Answer | null): void; // null: it failed
}

export function askedPart<Answer>(page: Page, asking: Asking<Answer>): AskedPart {
  const content = element("div", { class: "part-content" });
  const place = element(
    "section",
    { class: `fleet-part ${asking.name}`, "aria-labelledby": `${asking.name}-title`, "aria-busy": "true" },
    element("h2", { id: `${asking.name}-title` }, asking.title),
    content,
  );
  let running: AbortController | null = null;
  page.signal.addEventListener("abort", () => running?.abort());

  async function load(): Promise<void> {
    running?.abort();
    const { signal } = (running = new AbortController());
    place.setAttribute("aria-busy", "true");
    const progress = waiting(asking.waiting, signal);
    if (!content.querySelector(".is-answer")) content.replaceChildren(progress);
    else content.prepend(progress); // the old answer stays until the new one is there
    try {
      const answer = await asking.ask(signal);
      if (signal.aborted) return;
      asking.heard?.(answer);
      const parts = asking.show(answer).filter((part) => part !== null);
      content.replaceChildren(element("div", { class: "is-answer" }, ...parts));
    } catch (error) {
      if (isAbort(error) || signal.aborted) return;
      asking.heard?.(null);
      content.replaceChildren(failureState(error, () => void load()));
    }
    running?.abort(); // ends the clock of the progress
    place.setAttribute("aria-busy", "false");
  }
  return { element: place, load: () => void load() };
}

/** What is being asked, and for how long; only the words are said aloud, not every second. */
function waiting(text: string, signal: AbortSignal): HTMLElement {
  const clock = element("span", { class: "quiet", "aria-hidden": "true" });
  const begun = Date.now();
  const timer = setInterval(() => {
    clock.textContent = ` ${Math.round((Date.now() - begun) / 1000)} s`;
  }, 1000);
  signal.addEventListener("abort", () => clearInterval(timer));
  const state = element("div", { class: "skeleton", role: "status" }, element("span", {}, text, clock));
  return state;
}
