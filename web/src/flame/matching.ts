// Which labels a search finds. A regular expression can take for ever: it never runs where it could hold up
// the page for long.

import type { Label } from "./tree";

export const LONGEST_MS = 300;
const BATCH = 2000; // labels between two looks at the clock

export class SearchError extends Error {}

/** 1 for every label with the text in its name; the case of letters does not count. */
export function matchText(labels: readonly Label[], text: string): Uint8Array {
  const wanted = text.toLowerCase();
  return matchLabels(labels, (name) => name.toLowerCase().includes(wanted));
}

function matchLabels(labels: readonly Label[], isMatch: (name: string) => boolean): Uint8Array {
  return Uint8Array.from(labels, (label) => (isMatch(label.name) ? 1 : 0));
}

export function compile(text: string): RegExp {
  try {
    return new RegExp(text, "i");
  } catch {
    throw new SearchError("This is not a regular expression.");
  }
}

/** In a worker, which can be ended; where there is none, only expressions that cannot run away. */
export async function matchRegexp(labels: readonly Label[], text: string): Promise<Uint8Array> {
  const expression = compile(text);
  const worker = startWorker();
  const names = labels.map((label) => label.name);
  if (!worker) return matchHere(names, expression);
  try {
    return await matchInWorker(worker, names, text);
  } catch (error) {
    if (error instanceof SearchError) throw error;
    return matchHere(names, expression); // the worker's file could not be loaded: a page from disk
  } finally {
    worker.terminate();
  }
}

function startWorker(): Worker | null {
  try {
    return new Worker(new URL("./matching_worker.ts", import.meta.url), { type: "module" });
  } catch {
    return null;
  }
}

function matchInWorker(worker: Worker, names: string[], text: string): Promise<Uint8Array> {
  return new Promise((found, failed) => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    worker.onerror = (event) => failed(new Error(event.message));
    worker.onmessage = ({ data }: MessageEvent<"ready" | Uint8Array>) => {
      if (data === "ready") {
        timer = setTimeout(() => failed(tooSlow()), LONGEST_MS);
        worker.postMessage({ names, text });
      } else {
        clearTimeout(timer);
        found(data);
      }
    };
  });
}

async function matchHere(names: readonly string[], expression: RegExp): Promise<Uint8Array> {
  if (mayRunAway(expression.source)) throw tooSlow();
  const found = new Uint8Array(names.length);
  const end = performance.now() + LONGEST_MS;
  for (let at = 0; at < names.length; at++) {
    if (at % BATCH === 0) {
      if (performance.now() > end) throw tooSlow();
      await new Promise((next) => setTimeout(next));
    }
    if (expression.test(names[at]!)) found[at] = 1;
  }
  return found;
}

/** Repeats what itself repeats or has choices, or refers back: the ways to take exponential time. */
export function mayRunAway(source: string): boolean {
  const plain = source.replace(/\\[^1-9k]/g, "x").replace(/\[[^\]]*\]/g, "x");
  const repeats = (plain.match(/[*+]|\{\d+,/g) ?? []).length;
  return (
    /\([^()]*[*+{|][^()]*\)[*+{]/.test(plain) ||
    /\)+[*+{]/.test(nested(plain)) ||
    /\\[1-9k]/.test(plain) ||
    repeats > 3
  );
}

/** What is left of an expression whose innermost groups have none in them: any repeated group of groups. */
function nested(plain: string): string {
  return plain.replace(/\([^()]*\)[*+{]?/g, "x");
}

function tooSlow(): SearchError {
  return new SearchError("This regular expression takes too long: make it simpler.");
}
