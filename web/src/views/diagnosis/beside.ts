// What stands beside the chain: the culprit, what else was weighed, and what could not be told.

import { hashOf } from "../../address";
import type { Address } from "../../address";
import type { Explained, NotChecked, RuledOut, Suspect } from "../../api/types";
import { element } from "../../parts/element";
import { evidenceTable } from "./evidence";
import { spanLink } from "./moment_links";

function part(title: string, ...children: (Node | null)[]): HTMLElement {
  return element("section", { class: "diagnosis-part" }, element("h2", {}, title), ...children);
}

export function culprit(explained: Explained, address: Address): HTMLElement | null {
  const { culprit: suspect, moment_begin_us: begin, moment_end_us: end, core } = explained;
  if (!suspect) return null;
  const seconds = begin !== null && end !== null ? spanLink(address, begin, end, core) : null;
  return part(
    "Culprit",
    element("p", { class: "diagnosis-culprit" }, suspect.text || suspectText(suspect)),
    seconds
      ? element("p", {}, element("a", { href: seconds }, "See it in the flame graph of these seconds"))
      : null,
  );
}

export function suspectText(suspect: Suspect): string {
  const process = suspect.process || "many processes";
  const where = suspect.function ? `${process} in ${suspect.function}` : process;
  const quiet = (suspect.quiet_share * 100).toFixed(1);
  return `${where}, ${Math.round(suspect.share * 100)} % of the time, ${quiet} % in quiet seconds`;
}

export function ruledOut(rows: RuledOut[], address: Address, core: number | null): HTMLElement | null {
  if (!rows.length) return null;
  const lines = rows.map(({ text, evidence }) =>
    evidence.length
      ? element("details", {}, element("summary", {}, text), evidenceTable(evidence, address, core))
      : element("p", {}, text),
  );
  return part(
    "Ruled out",
    element("ul", { class: "plain" }, ...lines.map((line) => element("li", {}, line))),
  );
}

export function sentences(title: string, texts: string[]): HTMLElement | null {
  if (!texts.length) return null;
  return part(title, element("ul", {}, ...texts.map((text) => element("li", {}, text))));
}

export function notChecked(rows: NotChecked[]): HTMLElement | null {
  if (!rows.length) return null;
  const lines = rows.map((row) => [
    element("dt", {}, row.source),
    element("dd", {}, row.reason, row.hint ? element("div", { class: "quiet" }, row.hint) : null),
  ]);
  return part("Not checked", element("dl", { class: "not-checked" }, ...lines.flat()));
}

export function overviewLink(address: Address): HTMLElement {
  return element(
    "a",
    { href: hashOf({ ...address, view: "overview" }) },
    "Look at the whole range in the overview",
  );
}
