// What the overview asks for as the viewport moves: little, late, and never twice.

import type { Ask } from "../../api/ask";
import { isAbort } from "../../api/failure";
import { KeptAnswers } from "../../api/kept";
import type { ColumnsQuestion, RangeQuestion } from "../../api/questions";
import type { Cores, Events, Explained, Zombies } from "../../api/types";
import { alignedRange, recordedPart, stepFor } from "../../heatmap/viewport";
import type { Viewport } from "../../heatmap/viewport";

const SETTLED_MS = 120; // between two movements of a gesture
const DIAGNOSE_AFTER_MS = 700; // a diagnosis costs the server much more
const MARGIN = 0.5; // of the viewport, on both sides, fetched ahead
const MOST_COLUMNS = 4096;

export type Asked = "cores" | "events" | "zombies" | "diagnosis";

export interface Heard {
  cores(answer: Cores): void;
  events(answer: Events): void;
  zombies(answer: Zombies): void;
  diagnosing(): void;
  diagnosis(answer: Explained): void;
  failed(what: Asked, error: unknown): void;
}

export interface OverviewData {
  want(view: Viewport, pixels: number): void;
  again(): void;
}

export function overviewData(
  ask: Ask,
  host: string,
  bounds: Viewport,
  heard: Heard,
  signal: AbortSignal,
): OverviewData {
  const cores = new KeptAnswers((q: ColumnsQuestion, s) => ask.cores(q, s), 12);
  const events = new KeptAnswers((q: RangeQuestion, s) => ask.events(q, s), 24);
  const zombies = new KeptAnswers((q: ColumnsQuestion, s) => ask.zombies(q, s), 24);
  const verdicts = new KeptAnswers((q: RangeQuestion, s) => ask.diagnosis(q, s), 24);
  let wanted: [Viewport, number] | null = null;
  let covered: { beginUs: number; endUs: number; stepUs: number } | null = null;
  let timers: ReturnType<typeof setTimeout>[] = [];

  async function settle<Answer>(
    what: Asked,
    asked: Promise<Answer>,
    show: (answer: Answer) => void,
  ): Promise<boolean> {
    try {
      const answer = await asked;
      if (!signal.aborted) show(answer);
      return !signal.aborted;
    } catch (error) {
      if (!isAbort(error) && !signal.aborted) heard.failed(what, error);
      return false;
    }
  }

  /** First what is on the screen, then its neighbourhood, for the next pan. */
  async function fetchCores(view: Viewport, pixels: number): Promise<void> {
    const stepUs = stepFor(view, pixels);
    if (covered && covered.stepUs === stepUs && covers(covered, view, bounds)) return;
    for (const margin of [0, MARGIN]) {
      const range = alignedRange(view, stepUs, margin, bounds);
      if (range.columns > MOST_COLUMNS) return;
      const shown = await settle("cores", cores.get({ host, ...range }), heard.cores);
      if (!shown) return;
      covered = { beginUs: range.begin_us, endUs: range.end_us, stepUs };
    }
  }

  function fetchAll(view: Viewport, pixels: number, isFirst: boolean): void {
    void fetchCores(view, pixels);
    const part = recordedPart(view, bounds) ?? view;
    const second = (us: number): number => Math.floor(us / 1e6) * 1e6;
    const range = { host, begin_us: second(part.beginUs), end_us: second(part.endUs) + 1e6 };
    void settle("events", events.get(range), heard.events);
    void settle("zombies", zombies.get({ ...range, columns: Math.min(pixels, 600) }), heard.zombies);
    timers.push(setTimeout(() => diagnose(range), isFirst ? 0 : DIAGNOSE_AFTER_MS - SETTLED_MS));
  }

  function diagnose(range: RangeQuestion): void {
    heard.diagnosing();
    void settle("diagnosis", verdicts.get(range), heard.diagnosis);
  }

  function forget(): void {
    for (const timer of timers) clearTimeout(timer);
    timers = [];
  }

  function want(view: Viewport, pixels: number, isFirst = !wanted): void {
    wanted = [view, pixels];
    forget();
    timers.push(setTimeout(() => fetchAll(view, pixels, isFirst), isFirst ? 0 : SETTLED_MS));
  }

  signal.addEventListener("abort", () => {
    forget();
    for (const kept of [cores, events, zombies, verdicts]) kept.abort();
  });
  return {
    want,
    again() {
      covered = null;
      if (wanted) want(...wanted, true);
    },
  };
}

function covers(covered: Viewport, view: Viewport, bounds: Viewport): boolean {
  const part = recordedPart(view, bounds);
  return !part || (covered.beginUs <= part.beginUs && covered.endUs >= part.endUs);
}
