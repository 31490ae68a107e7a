// Who and what stands out in A against quiet seconds. A row highlights its frames in the flame graph.

import type { Culprits, Suspect } from "../../api/types";
import { element } from "../../parts/element";
import { damagedNote, failureState, loadingState } from "../../parts/states";
import { chanceInWords, writtenCount, writtenLift, writtenProbability, writtenShare } from "./words";

export interface Names {
  process: string;
  function: string;
}

export interface CulpritTable {
  show(culprits: Culprits): void;
  wait(): void;
  fail(error: unknown, again: () => void): void;
}

const HEADINGS: [string, string][] = [
  ["Who and what", "A process, a kernel function, or a process in a kernel function"],
  ["Here", "Share of the cores' time in A"],
  ["Quiet", "Share of the cores' time in quiet seconds"],
  ["Lift", "How many times more here; new: not seen in a quiet second"],
  ["By chance", "How probable it is that chance alone does this to any of all compared"],
];

export function culpritTable(place: HTMLElement, onHighlight: (names: Names | null) => void): CulpritTable {
  let pressed: HTMLButtonElement | null = null;

  function press(row: HTMLButtonElement, suspect: Suspect): void {
    const isOff = pressed === row;
    pressed?.setAttribute("aria-pressed", "false");
    pressed = isOff ? null : row;
    pressed?.setAttribute("aria-pressed", "true");
    onHighlight(isOff ? null : { process: suspect.process, function: suspect.function });
  }

  function row(suspect: Suspect, isCulprit: boolean): HTMLElement {
    const name = element(
      "button",
      { type: "button", class: "suspect", "aria-pressed": "false" },
      ...nameOf(suspect),
    );
    const marks = [
      isCulprit && element("span", { class: "badge" }, "culprit"),
      suspect.is_significant && !isCulprit && element("span", { class: "for-readers" }, "stands out"),
    ];
    const made = element(
      "tr",
      {
        class: isCulprit ? "is-culprit" : suspect.is_significant ? "is-significant" : "is-usual",
        onclick: () => press(name, suspect),
      },
      element("th", { scope: "row", title: suspect.text }, name, " ", ...marks),
      element("td", {}, writtenShare(suspect.share)),
      element("td", {}, writtenShare(suspect.quiet_share)),
      element("td", {}, writtenLift(suspect.lift)),
      element("td", {}, `${chanceInWords(suspect.probability)} (${writtenProbability(suspect.probability)})`),
    );
    return made;
  }

  function table(culprits: Culprits): HTMLElement {
    const headings = HEADINGS.map(([text, title]) => element("th", { scope: "col", title }, text));
    const rows = ranked(culprits).map((suspect) => row(suspect, isSame(suspect, culprits.culprit)));
    const caption = element(
      "caption",
      { class: "for-readers" },
      "Suspects; a row's button highlights it in the flame graph",
    );
    return element(
      "table",
      {},
      caption,
      element("thead", {}, element("tr", {}, ...headings)),
      element("tbody", {}, ...rows),
    );
  }

  function show(culprits: Culprits): void {
    pressed = null;
    place.classList.remove("is-outdated");
    const parts = [
      element("p", { class: "culprit-verdict" }, verdictOf(culprits)),
      element("p", { class: "quiet" }, comparedText(culprits)),
      culprits.suspects.length > 0 && element("div", { class: "rows" }, table(culprits)),
      damagedNote(culprits.damaged),
    ];
    place.replaceChildren(...parts.filter((part) => part instanceof HTMLElement));
  }

  return {
    show,
    wait() {
      if (place.childElementCount === 0) place.replaceChildren(loadingState("Comparing with quiet seconds"));
      place.classList.add("is-outdated");
    },
    fail(error, again) {
      place.classList.remove("is-outdated");
      place.replaceChildren(failureState(error, again));
    },
  };
}

/** The culprit first, then what is significant; else as the server ranks them. */
export function ranked({ suspects, culprit }: Culprits): Suspect[] {
  const rank = (suspect: Suspect) => (isSame(suspect, culprit) ? 0 : suspect.is_significant ? 1 : 2);
  return [...suspects].sort((one, other) => rank(one) - rank(other));
}

export function isSame(one: Suspect, other: Suspect | null): boolean {
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
