// The filters of the moment view: cores, processes, threads, search, idle. All of them are in the address.

import type { Address } from "../../address";
import type { Scope } from "../../api/types";
import { element } from "../../parts/element";
import type { Page } from "../../page";
import { choices } from "./choices";
import { searchBox, toggle } from "./search_box";

export interface Filters {
  follow(address: Address): void;
  offer(scope: Scope): void;
  complain(what: string): void;
  focusSearch(): void;
}

const NARROW = "(max-width: 700px)";

export function filters(place: HTMLElement, page: Page): Filters {
  const { signal } = page;
  const cores = choices({
    title: "Cores",
    isChips: true,
    signal,
    onChange: (chosen) => page.go({ cpus: chosen.map(Number) }),
  });
  const processes = choices({
    title: "Processes",
    isChips: false,
    signal,
    onChange: (chosen) => page.go({ processes: chosen }),
  });
  const threads = choices({
    title: "Threads",
    isChips: false,
    signal,
    onChange: (chosen) => page.go({ threads: chosen }),
  });
  const search = searchBox(page);
  const idle = toggle("idle", () => page.go({ idle: idle.box.checked }));
  const clear = element("button", { type: "button", onclick: () => page.go(NO_FILTERS) }, "No filters");
  const summary = element("summary", {}, "Filters");
  const all = [cores.root, processes.root, threads.root, search.root, idle.root, clear];
  const panel = element(
    "details",
    { class: "filters" },
    summary,
    element("div", { class: "toolbar" }, ...all),
  );
  place.append(panel);

  // Folded on a phone; beside it there is room, and the summary is hidden.
  const narrow = matchMedia(NARROW);
  const fold = () => (panel.open = !narrow.matches);
  narrow.addEventListener("change", fold, { signal });
  fold();

  return {
    follow(address) {
      cores.choose(address.cpus.map(String));
      processes.choose(address.processes);
      threads.choose(address.threads);
      search.follow(address);
      idle.box.checked = address.idle;
      const count = countOf(address);
      clear.disabled = count === 0;
      summary.textContent = count ? `Filters: ${count} on` : "Filters";
    },
    offer(scope) {
      cores.offer([...scope.cpus].sort((one, other) => Number(one.name) - Number(other.name)));
      processes.offer(scope.processes);
      threads.offer(scope.threads);
    },
    complain: search.complain,
    focusSearch() {
      panel.open = true;
      search.focus();
    },
  };
}

export const NO_FILTERS = {
  cpus: [] as number[],
  processes: [] as string[],
  threads: [] as string[],
  idle: false,
  search: "",
  regexp: false,
  onlyMatching: false,
};

function countOf({ cpus, processes, threads, idle, search }: Address): number {
  return cpus.length + processes.length + threads.length + Number(idle) + Number(search !== "");
}
