// What is highlighted in the flame graph, as it stands in the address.

import type { Names } from "../../flame/lit";

/** `way` tells rows of the culprit table apart: a function with all it calls, or alone. */
export interface Mark extends Names {
  readonly way: string;
}

const APART = ";";

export function writtenMark(mark: Mark): string {
  const parts = [mark.process, mark.function, mark.way];
  return parts.map((part) => part.replace(/[%;]/g, encodeURIComponent)).join(APART);
}

/** null where nothing is highlighted, or a link says nonsense. */
export function readMark(text: string): Mark | null {
  try {
    const [process = "", name = "", way = ""] = text.split(APART).map(decodeURIComponent);
    return process || name ? { process, function: name, way } : null;
  } catch {
    return null;
  }
}
