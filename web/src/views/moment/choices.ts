// A filter by names: a searchable list with the samples of each.

import type { Named } from "../../api/types";
import { element } from "../../parts/element";
import { dropdown } from "./dropdown";
import { writtenCount } from "./words";

export interface Choices {
  readonly root: HTMLElement;
  offer(named: readonly Named[]): void;
  choose(chosen: readonly string[]): void;
}

export interface ChoicesOptions {
  readonly title: string; // "Cores"
  readonly isChips: boolean; // many short names, side by side, without a search box
  onChange(chosen: string[]): void;
  signal: AbortSignal;
}

export function choices(options: ChoicesOptions): Choices {
  const drop = dropdown(options.title, options.signal);
  const find = element("input", { type: "search", "aria-label": `Find in ${options.title.toLowerCase()}` });
  const clear = element("button", { type: "button", onclick: () => options.onChange([]) }, "All");
  const list = element("ul", { class: options.isChips ? "choices chips" : "choices" });
  drop.panel.append(...(options.isChips ? [] : [find]), clear, list);
  let offered: readonly Named[] = [];
  let chosen: readonly string[] = [];
  const rows = new Map<string, { root: HTMLElement; box: HTMLInputElement; count: HTMLElement }>();

  function row(name: string) {
    const box = element("input", {
      type: "checkbox",
      onchange: () => options.onChange(toggled(chosen, name)),
    });
    const count = element("span", { class: "quiet" });
    const root = element(
      "li",
      {},
      element("label", {}, box, element("span", { class: "name" }, name), count),
    );
    return { root, box, count };
  }

  /** Rows that are there stay the same elements, so that the one with the focus keeps it. */
  function draw(): void {
    if (!drop.root.open) {
      rows.clear();
      list.replaceChildren();
    }
    for (const { name, samples } of offered) {
      const made = rows.get(name) ?? row(name);
      if (!rows.has(name)) list.append(made.root);
      rows.set(name, made);
      made.box.checked = chosen.includes(name);
      made.count.textContent = writtenCount(samples);
    }
    drop.rename(chosen.length ? `${options.title}: ${chosen.length}` : options.title);
    drop.root.classList.toggle("is-active", chosen.length > 0);
    clear.disabled = chosen.length === 0;
    hideOthers();
  }

  function hideOthers(): void {
    const wanted = find.value.toLowerCase();
    for (const [name, { root }] of rows) root.hidden = !name.toLowerCase().includes(wanted);
  }
  find.addEventListener("input", hideOthers);

  return {
    root: drop.root,
    offer(named) {
      offered = offer(named, offered, chosen);
      draw();
    },
    choose(next) {
      chosen = next;
      offered = offer(offered, [], chosen);
      draw();
    },
  };
}

/** What can be chosen: where a filter is on, the answer has only what it lets through, so older names stay. */
export function offer(named: readonly Named[], before: readonly Named[], chosen: readonly string[]): Named[] {
  const names = new Set(named.map(({ name }) => name));
  const kept = chosen.length ? before.filter(({ name }) => !names.has(name)) : [];
  kept.forEach(({ name }) => names.add(name));
  const missing = chosen.filter((name) => !names.has(name)).map((name) => ({ name, samples: 0 }));
  return [...named, ...kept, ...missing];
}

export function toggled(chosen: readonly string[], name: string): string[] {
  return chosen.includes(name) ? chosen.filter((other) => other !== name) : [...chosen, name];
}
