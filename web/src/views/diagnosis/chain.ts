// The chain from the root to the symptom: boxes with arrows, each of which opens its evidence.

import type { Address } from "../../address";
import type { ChainLink, Explained } from "../../api/types";
import { element } from "../../parts/element";
import { durationText, timeText } from "../../parts/time_text";
import { evidenceTable } from "./evidence";
import { instantLink, spanLink } from "./moment_links";

const STRENGTHS: Readonly<Record<string, readonly [string, string]>> = {
  strong: ["●●●", "all that must hold was seen, and what this link explains beside it"],
  fair: ["●●○", "all that must hold was seen; a part of what should be beside it was not, or is not known"],
  weak: ["●○○", "a part of what must hold is not known, or nothing of what should be beside it was there"],
};

interface Opened {
  readonly button: HTMLButtonElement;
  readonly panel: HTMLElement;
}

export function chain(explained: Explained, address: Address): HTMLElement {
  const opened: Opened[] = [];
  const open = (number: number): void => {
    opened.forEach(({ button, panel }, at) => {
      const isOpen = at === number && panel.hidden;
      panel.hidden = !isOpen;
      button.setAttribute("aria-expanded", String(isOpen));
    });
  };
  const links = explained.chain.map((link, number) => {
    const made = chainLink(link, number, address, explained.core, () => open(number));
    opened.push(made);
    return element("li", {}, made.button, made.panel);
  });
  const list = element("ol", { class: "chain" }, ...links, symptom(explained, address));
  list.style.setProperty("--links", String(links.length + (explained.symptom ? 1 : 0)));
  open(0);
  return list;
}

function chainLink(
  link: ChainLink,
  number: number,
  address: Address,
  core: number | null,
  open: () => void,
): Opened {
  const id = `evidence-${number}`;
  const button = element(
    "button",
    { type: "button", class: "chain-link", "aria-expanded": "false", "aria-controls": id, onclick: open },
    element("span", { class: "chain-cause" }, link.cause),
    element("span", { class: "chain-so" }, element("span", { "aria-hidden": "true" }, "↓ "), "so"),
    element("span", { class: "chain-effect" }, link.effect),
    strength(link.strength),
  );
  const panel = element(
    "div",
    {
      class: "chain-evidence",
      id,
      role: "group",
      "aria-label": `Evidence of link ${number + 1}`,
      hidden: true,
    },
    element("p", {}, `${sentence(link.strength)} `, spanAnchor(link, address, core)),
    element("div", { class: "chain-table" }, evidenceTable(link.evidence, address, core)),
  );
  return { button, panel };
}

function strength(name: string): HTMLElement {
  const [dots] = STRENGTHS[name] ?? ["", ""];
  return element(
    "span",
    { class: "chain-strength" },
    element("span", { "aria-hidden": "true" }, dots),
    ` evidence: ${name}`,
  );
}

function sentence(name: string): string {
  const [, meaning] = STRENGTHS[name] ?? ["", ""];
  return meaning ? `The evidence is ${name}: ${meaning}.` : `The evidence is ${name}.`;
}

function spanAnchor(link: ChainLink, address: Address, core: number | null): HTMLElement | null {
  if (link.begin_us === null || link.end_us === null) return null;
  const text = `See its ${durationText(link.end_us - link.begin_us)}, from ${timeText(link.begin_us)}`;
  return element("a", { href: spanLink(address, link.begin_us, link.end_us, core) }, text);
}

function symptom(explained: Explained, address: Address): HTMLElement | null {
  const event = explained.symptom;
  if (!event) return null;
  const core = event.core ?? explained.core;
  return element(
    "li",
    {},
    element(
      "div",
      { class: "chain-symptom" },
      element("strong", {}, event.kind),
      element("span", {}, event.text),
      element("a", { href: instantLink(address, event.time_us, core) }, `See ${timeText(event.time_us)}`),
    ),
  );
}
