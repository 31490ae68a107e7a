// The verdict on what is on the screen, from the diagnosis, which takes its time and loads apart.

import { hashOf, inView } from "../../address";
import type { Address } from "../../address";
import { inOneLine } from "../../api/failure";
import type { Explained } from "../../api/types";
import { element } from "../../parts/element";

const WORDS = { healthy: "Healthy", trouble: "Trouble", unknown: "Not known" } as const;
const SIGNS = { healthy: "✓", trouble: "▲", unknown: "?" } as const;

export interface Verdict {
  readonly element: HTMLElement;
  loading(): void;
  show(explained: Explained, address: Address): void;
  fail(error: unknown): void;
}

export function verdict(): Verdict {
  const place = element("section", { class: "verdict", "aria-label": "Verdict", role: "status" });
  return {
    element: place,
    loading() {
      place.dataset.level = "loading";
      place.replaceChildren(element("span", { class: "quiet" }, "Diagnosing this range"));
    },
    show(explained, address) {
      place.dataset.level = explained.level;
      place.replaceChildren(...said(explained, address));
    },
    fail(error) {
      place.dataset.level = "unknown";
      place.replaceChildren(element("span", {}, `No verdict: ${inOneLine(error)}`));
    },
  };
}

function said(explained: Explained, address: Address): Node[] {
  const parts: Node[] = [
    element(
      "strong",
      { class: "level" },
      element("span", { "aria-hidden": "true" }, `${SIGNS[explained.level]} `),
      WORDS[explained.level],
    ),
    element("span", { class: "words" }, explained.verdict),
  ];
  const moment = momentLink(explained, address);
  if (moment) parts.push(element("a", { class: "button", href: moment }, "Open the moment"));
  parts.push(element("a", { class: "button", href: hashOf(inView(address, "diagnosis")) }, "Why"));
  return parts;
}

function momentLink(explained: Explained, address: Address): string {
  const [begin, end] = [explained.moment_begin_us, explained.moment_end_us];
  if (begin === null || end === null || begin >= end) return "";
  return hashOf({
    ...inView(address, "moment"),
    begin: begin - 30_000_000,
    end: end + 30_000_000,
    a: [begin, end],
    b: "quiet",
    cpus: explained.core === null ? [] : [explained.core],
    event: explained.symptom?.id ?? "",
  });
}
