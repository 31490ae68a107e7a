// What colours mean in the flame graph. Boxes are light and their text is dark, in both themes.

import type { Label } from "./tree";

export type Rgb = readonly [number, number, number];

// Okabe and Ito's colours stay apart for colour-blind people, and bear dark text.
export const KINDS: Readonly<Record<string, Rgb>> = {
  kernel: [230, 159, 0],
  user: [86, 180, 233],
  jit: [47, 181, 140],
  unknown: [187, 187, 187],
  root: [221, 221, 221],
};
export const LESS: Rgb = [76, 145, 214];
export const EQUAL: Rgb = [214, 214, 214];
export const MORE: Rgb = [236, 130, 20];
export const TEXT: Rgb = [17, 20, 24];

const SHADES = 3; // of a kind, so that neighbours can be told apart
const LIGHTER = 0.16; // each shade
const STEPS = 10; // to each side of a difference

export const DUST = css([170, 170, 170]);
export const TEXT_COLOUR = css(TEXT);

export function css(colour: Rgb): string {
  return `rgb(${colour.map(Math.round).join(",")})`;
}

export function mix(one: Rgb, other: Rgb, part: number): Rgb {
  const at = (n: 0 | 1 | 2): number => one[n] + (other[n] - one[n]) * part;
  return [at(0), at(1), at(2)];
}

export function shadesOf(kind: string): Rgb[] {
  const colour = KINDS[kind] ?? KINDS["unknown"]!;
  return Array.from({ length: SHADES }, (_, shade) => mix(colour, [255, 255, 255], shade * LIGHTER));
}

/** One colour a label, the same in every graph. */
export function labelColours(labels: readonly Label[]): string[] {
  const shades = Object.fromEntries(Object.keys(KINDS).map((kind) => [kind, shadesOf(kind).map(css)]));
  return labels.map(({ name, kind }) => {
    const choices = shades[kind] ?? shades["unknown"]!;
    return choices[letterSum(name) % SHADES]!;
  });
}

function letterSum(name: string): number {
  let sum = 0;
  for (let at = 0; at < name.length; at++) sum += name.charCodeAt(at);
  return sum;
}

// The root makes small changes visible beside a large one.
export function changeColour(change: number, largest: number): string {
  const strength = largest > 0 ? Math.sqrt(Math.min(Math.abs(change) / largest, 1)) : 0;
  const step = Math.round(strength * STEPS);
  return (change < 0 ? LESS_STEPS : MORE_STEPS)[step]!;
}

export function stepsTo(end: Rgb): Rgb[] {
  return Array.from({ length: STEPS + 1 }, (_, step) => mix(EQUAL, end, step / STEPS));
}

const LESS_STEPS = stepsTo(LESS).map(css);
const MORE_STEPS = stepsTo(MORE).map(css);

/** WCAG's contrast of two colours, 1 to 21. */
export function contrast(one: Rgb, other: Rgb): number {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

function luminance(colour: Rgb): number {
  const [red, green, blue] = colour.map((part) => {
    const ratio = part / 255;
    return ratio <= 0.04045 ? ratio / 12.92 : ((ratio + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
