// The flame graph of the selection with its controls.

import { SPLITS, type Address } from "../../address";
import { failureOf, NOT_IN_THIS_FILE } from "../../api/failure";
import type { Flame } from "../../api/types";
import { flameGraph } from "../../flame";
import type { Page } from "../../page";
import { element } from "../../parts/element";
import { damagedNote } from "../../parts/states";
import { exportMenu } from "./export_menu";
import { readMark, writtenMark, type Mark } from "./mark";
import { isWrongSearch, toggle } from "./search_box";

export interface FlamePanel {
  mark(mark: Mark | null): void;
  follow(address: Address): void;
  show(flame: Flame): void;
  wait(): void;
  fail(error: unknown, again: () => void): void;
}

const SPLIT_TEXTS: Record<Address["by"], string> = {
  comm: "command",
  process: "process",
  thread: "thread",
  core: "core",
  whole: "nothing",
};

export function flamePanel(place: HTMLElement, page: Page, onFind: () => void): FlamePanel {
  const options = SPLITS.map((value) => element("option", { value }, SPLIT_TEXTS[value]));
  const by = element("select", { onchange: () => page.go({ by: splitOf(by.value), zoom: "" }) }, ...options);
  const inverted = toggle("inverted", () => page.go({ inverted: inverted.box.checked, zoom: "" }));
  const icicle = toggle("icicle", () => page.go({ icicle: icicle.box.checked }));
  const difference = toggle("difference to B", () => page.go({ b: difference.box.checked ? "quiet" : null }));
  const title = element("h2", {}, "Flame graph");
  const notes = element("div", { class: "quiet flame-notes" });
  const again = element("div", { class: "flame-again" });
  const body = element("div", { class: "flame-place" });
  place.append(
    element(
      "div",
      { class: "panel-bar" },
      title,
      element("label", { class: "toggle" }, "split by", by),
      ...[difference, inverted, icicle].map(({ root }) => root),
      exportMenu(page),
    ),
    again,
    body,
    notes,
  );
  const graph = flameGraph(body, {
    onZoom: (zoom) => page.go({ zoom }),
    onMark: (names) => mark(names && { ...names, way: "" }),
    onFind,
  });
  page.signal.addEventListener("abort", () => graph.destroy());
  let shown: Flame | null = null;

  function draw(address: Address): void {
    const { inverted, icicle, search, regexp, zoom } = address;
    if (shown) graph.show(shown, { inverted, icicle, search, regexp, zoom, mark: readMark(address.mark) });
  }

  function mark(now: Mark | null): void {
    page.go({ mark: now ? writtenMark(now) : "" });
    if (now) graph.bringIntoSight();
  }

  return {
    mark,
    follow(address) {
      by.value = address.by;
      inverted.box.checked = address.inverted;
      icicle.box.checked = address.icicle;
      difference.box.checked = address.b !== null;
      if (!place.classList.contains("is-outdated")) draw(address);
    },
    show(flame) {
      place.classList.remove("is-outdated");
      shown = flame;
      title.textContent = flame.title || "Flame graph";
      const damaged = damagedNote(flame.damaged);
      notes.replaceChildren(flame.notes.join("; "), ...(damaged ? [damaged] : []));
      again.replaceChildren();
      draw(page.address);
    },
    wait() {
      place.classList.add("is-outdated");
      graph.loading();
    },
    fail(error, retry) {
      place.classList.remove("is-outdated");
      if (shown && isWrongSearch(error, page.address)) return draw(page.address); // said beside the search
      shown = null; // the old picture is of another question
      graph.fail(error);
      const isWorthIt = failureOf(error).slug !== NOT_IN_THIS_FILE;
      const button = element("button", { type: "button", onclick: retry }, "Try again");
      again.replaceChildren(...(isWorthIt ? [button] : []));
    },
  };
}

function splitOf(value: string): Address["by"] {
  return SPLITS.find((split) => split === value) ?? "comm";
}
