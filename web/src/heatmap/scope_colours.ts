// The scope's ramps: blue for how much ran, orange for what matches a search. Blue and orange are told apart
// with every kind of colour blindness, and lightness alone says how much.

import type { Theme } from "../parts/theme";
import { cssColour, onScale, packed, type Colour } from "./colours";
import type { ScopeTones } from "./scope_picture";

interface Stops {
  readonly empty: Colour;
  readonly heat: readonly Colour[]; // one sample is told apart from none
  readonly faded: readonly Colour[];
  readonly lit: readonly Colour[];
}

const STOPS: Record<Theme, Stops> = {
  dark: {
    empty: [24, 32, 42],
    heat: [
      [29, 62, 100],
      [47, 127, 196],
      [129, 192, 242],
      [235, 247, 255],
    ],
    faded: [
      [32, 41, 52],
      [84, 94, 106],
    ],
    lit: [
      [138, 76, 0],
      [236, 146, 24],
      [255, 224, 160],
    ],
  },
  light: {
    empty: [255, 255, 255],
    heat: [
      [213, 230, 245],
      [110, 168, 217],
      [27, 98, 165],
      [4, 33, 76],
    ],
    faded: [
      [238, 240, 243],
      [188, 194, 201],
    ],
    lit: [
      [255, 205, 130],
      [220, 112, 0],
      [118, 46, 0],
    ],
  },
};
const LEVELS = 256;

export function scopeTones(theme: Theme): ScopeTones {
  const { empty, heat, faded, lit } = STOPS[theme];
  return { empty: packed(empty), heat: ramp(heat), faded: ramp(faded), lit: ramp(lit) };
}

/** A ramp as a legend draws it. */
export function legendGradient(name: "heat" | "lit", theme: Theme): string {
  return `linear-gradient(to right, ${STOPS[theme][name].map(cssColour).join(", ")})`;
}

function ramp(stops: readonly Colour[]): Uint32Array {
  return Uint32Array.from({ length: LEVELS }, (_, level) => packed(onScale(stops, level / (LEVELS - 1))));
}
