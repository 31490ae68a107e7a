// Colours of heat. Lightness alone tells how much, so that nobody needs to tell hues apart; the hues of
// "busy" are from the set of Okabe and Ito and say which kind of time leads.

import type { Theme } from "../parts/theme";

export type Colour = readonly [number, number, number];
export const LEVELS = 101; // percent

const EMPTY: Record<Theme, Colour> = { dark: [24, 32, 42], light: [255, 255, 255] };
const FULL_HEAT: Record<Theme, Colour[]> = {
  dark: [
    [24, 32, 42],
    [29, 74, 122],
    [47, 127, 196],
    [129, 192, 242],
    [235, 247, 255],
  ],
  light: [
    [255, 255, 255],
    [205, 226, 244],
    [110, 168, 217],
    [27, 98, 165],
    [4, 33, 76],
  ],
};
export const KIND_COLOURS: Record<string, Record<Theme, Colour>> = {
  system: { dark: [230, 126, 20], light: [196, 88, 0] },
  softirq: { dark: [224, 140, 190], light: [160, 64, 124] },
  user: { dark: [86, 180, 233], light: [0, 98, 158] },
  steal: { dark: [240, 228, 66], light: [122, 108, 0] },
  wait: { dark: [0, 190, 140], light: [0, 116, 84] },
};

/** A colour packed as canvas image data wants it. */
export function packed([red, green, blue]: Colour): number {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

export function cssColour([red, green, blue]: Colour): string {
  return `rgb(${red} ${green} ${blue})`;
}

function mixed(from: Colour, to: Colour, part: number): Colour {
  const at = (i: 0 | 1 | 2): number => Math.round(from[i] + (to[i] - from[i]) * part);
  return [at(0), at(1), at(2)];
}

/** The colour at `part` (0 to 1) of a scale through evenly spaced stops. */
export function onScale(stops: readonly Colour[], part: number): Colour {
  const place = Math.min(1, Math.max(0, part)) * (stops.length - 1);
  const index = Math.min(stops.length - 2, Math.floor(place));
  return mixed(stops[index]!, stops[index + 1]!, place - index);
}

function ramp(stops: readonly Colour[], levels: number): Uint32Array {
  return Uint32Array.from({ length: levels }, (_, i) => packed(onScale(stops, i / (levels - 1))));
}

/** One hue, from the ground's colour to the strongest. */
export function heatRamp(theme: Theme, levels = LEVELS): Uint32Array {
  return ramp(FULL_HEAT[theme], levels);
}

export function heatStops(theme: Theme): readonly Colour[] {
  return FULL_HEAT[theme];
}

/** The ramp of one kind of time; low shares come near the ground, but never look empty. */
export function kindRamp(kind: string, theme: Theme, levels = LEVELS): Uint32Array {
  return ramp(kindStops(kind, theme), levels);
}

export function kindStops(kind: string, theme: Theme): readonly Colour[] {
  const full = KIND_COLOURS[kind]?.[theme] ?? FULL_HEAT[theme].at(-1)!;
  return [EMPTY[theme], mixed(EMPTY[theme], full, 0.6), full];
}
