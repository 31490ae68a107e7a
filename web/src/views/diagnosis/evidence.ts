// Facts: what was seen, where it was read, and the moment that shows it.

import type { Address } from "../../address";
import type { EvidenceRow } from "../../api/types";
import { element } from "../../parts/element";
import { timeText } from "../../parts/time_text";
import { instantLink } from "./moment_links";

export function evidenceTable(rows: EvidenceRow[], address: Address, core: number | null): HTMLElement {
  if (!rows.length) return element("p", { class: "quiet" }, "No figures: it follows from the other links.");
  const hasMoments = rows.some((row) => row.moment_us !== null);
  const heads = ["What", "Seen", "Read from", ...(hasMoments ? ["When"] : [])];
  return element(
    "table",
    { class: "evidence" },
    element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))),
    element("tbody", {}, ...rows.map((row) => evidenceLine(row, address, core, hasMoments))),
  );
}

function evidenceLine(
  row: EvidenceRow,
  address: Address,
  core: number | null,
  hasMoments: boolean,
): HTMLElement {
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, row.name),
    element("td", { "data-head": "seen" }, row.text || valueText(row)),
    element("td", { "data-head": "read from", class: "evidence-source" }, row.source),
    hasMoments && element("td", { "data-head": "when" }, momentLink(row.moment_us, address, core)),
  );
}

function momentLink(timeUs: number | null, address: Address, core: number | null): HTMLElement | null {
  if (timeUs === null) return null;
  return element("a", { href: instantLink(address, timeUs, core) }, timeText(timeUs));
}

export function valueText(row: Pick<EvidenceRow, "value" | "unit">): string {
  const value = typeof row.value === "number" ? row.value.toLocaleString("en-US") : row.value;
  return row.unit ? `${value} ${row.unit}` : value;
}
