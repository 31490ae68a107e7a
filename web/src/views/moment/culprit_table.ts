// Who and what stands out in A against quiet seconds. A row highlights its frames in the flame graph.

import type { Culprits, Suspect } from "../../api/types";
import { element } from "../../parts/element";
import { damagedNote, failureState, loadingState } from "../../parts/states";
import type { Mark } from "./mark";
import { chanceInWords, writtenCount, writtenLift, writtenProbability, writtenShare } from "./words";

export interface CulpritTable {
  show(culprits: Culprits): void;
  follow(mark: Mark | null): void; // the row of what is highlighted is pressed
  wait(): void;
  fail(error: unknown, again: () => void): void;
}

interface Row {
  readonly suspect: Suspect;
  readonly button: HTMLButtonElement;
}

const HEADINGS: [string, string][] = [
  ["Who and what", "A process, a kernel function, or a process in a kernel function"],
  ["Here", "Share of the cores' time in A"],
  ["Quiet", "Share of the cores' time in quiet seconds"],
  ["Lift", "How many times more here; new: not seen in a quiet second"],
  ["By chance", "How probable it is that chance alone does this to any of all compared"],
];

export function culpritTable(place: HTMLElement, onMark: (mark: Mark | null) => void): CulpritTable {
  let rows: Row[] = [];

  function press({ suspect, button }: Row): void {
    onMark(button.getAttribute("aria-pressed") === "true" ? null : suspect);
  }

  return {
    show(culprits) {
      rows = ranked(culprits).map((suspect) => ({ suspect, button: suspectButton(suspect) }));
      place.classList.remove("is-outdated");
      const lines = rows.map((row) => line(row, isSame(row.suspect, culprits.culprit), () => press(row)));
      const parts = [
        element("p", { class: "culprit-verdict" }, verdictOf(culprits)),
        element("p", { class: "quiet" }, comparedText(culprits)),
        lines.length > 0 && element("div", { class: "rows" }, table(lines)),
        damagedNote(culprits.damaged),
      ];
      place.replaceChildren(...parts.filter((part) => part instanceof HTMLElement));
    },
    follow(mark) {
      for (const { suspect, button } of rows)
        button.setAttribute("aria-pressed", String(isSame(suspect, mark)));
    },
    wait() {
      if (place.childElementCount === 0) place.replaceChildren(loadingState("Comparing with quiet seconds"));
      place.classList.add("is-outdated");
    },
    fail(error, again) {
      rows = [];
      place.classList.remove("is-outdated");
      place.replaceChildren(failureState(error, again));
    },
  };
}

function suspectButton(suspect: Suspect): HTMLButtonElement {
  const attributes = { type: "button", class: "suspect", "aria-pressed": "false" };
  return element("button", attributes, ...nameOf(suspect));
}

function line({ suspect, button }: Row, isCulprit: boolean, onclick: () => void): HTMLElement {
  const marks = [
    isCulprit && element("span", { class: "badge" }, "culprit"),
    suspect.is_significant && !isCulprit && element("span", { class: "for-readers" }, "stands out"),
  ];
  const kind = isCulprit ? "is-culprit" : suspect.is_significant ? "is-significant" : "is-usual";
  return element(
    "tr",
    { class: kind, onclick },
    element("th", { scope: "row", title: suspect.text }, button, " ", ...marks),
    element("td", {}, writtenShare(suspect.share)),
    element("td", {}, writtenShare(suspect.quiet_share)),
    element("td", {}, writtenLift(suspect.lift)),
    element("td", {}, `${chanceInWords(suspect.probability)} (${writtenProbability(suspect.probability)})`),
  );
}

function table(lines: HTMLElement[]): HTMLElement {
  const headings = HEADINGS.map(([text, title]) => element("th", { scope: "col", title }, text));
  const words = "Suspects; a row's button highlights it in the flame graph";
  return element(
    "table",
    {},
    element("caption", { class: "for-readers" }, words),
    element("thead", {}, element("tr", {}, ...headings)),
    element("tbody", {}, ...lines),
  );
}

/** The culprit first, then what is significant; else as the server ranks them. */
export function ranked({ suspects, culprit }: Culprits): Suspect[] {
  const rank = (suspect: Suspect) => (isSame(suspect, culprit) ? 0 : suspect.is_significant ? 1 : 2);
  return [...suspects].sort((one, other) => rank(one) - rank(other));
}

export function isSame(one: Mark, other: Mark | null): boolean {
  return (
    other !== null &&
    one.process === other.process &&
    one.function === other.function &&
    one.way === other.way
  );
}

function nameOf({ process, function: name, way }: Suspect): (HTMLElement | string)[] {
  const parts: (HTMLElement | string)[] = [];
  if (process) parts.push(element("b", {}, process));
  if (process && name) parts.push(" in ");
  if (name) parts.push(element("code", {}, name), way === "self" ? " alone" : "");
  return parts;
}

export function verdictOf({ culprit, note }: Culprits): string {
  if (culprit) {
    const shares = `${writtenShare(culprit.share)} of the time against ${writtenShare(culprit.quiet_share)}`;
    return `${culprit.text} stands out: ${shares} in quiet seconds.`;
  }
  return note ? `Nothing can be said: ${note}.` : "Nothing stands out.";
}

export function comparedText({ window_seconds, quiet_seconds, compared, culprit, note }: Culprits): string {
  const [here, quiet] = [window_seconds, quiet_seconds].map((seconds) => writtenCount(Math.round(seconds)));
  const text = `${here} s here against ${quiet} quiet seconds, ${writtenCount(compared)} compared.`;
  return culprit && note ? `${text} ${note}.` : text;
}
