import assert from "node:assert/strict";
import { test } from "node:test";
import { scopeTones } from "../src/heatmap/scope_colours";
import { scopePixels } from "../src/heatmap/scope_picture";

const tones = {
  empty: 1,
  heat: Uint32Array.from([10, 11, 12]),
  faded: Uint32Array.from([20, 21, 22]),
  lit: Uint32Array.from([30, 31, 32]),
};
const grid = { beginUs: 0, columns: 2, rows: 2 };
const counts = Uint16Array.from([0, 4, 2, 1]);

test("columns become pixels with the latest row on top", () => {
  const picture = scopePixels({ grid, counts, matched: null, most: 4 }, 100, tones);
  assert.deepEqual([...picture.pixels], [12, 11, 1, 11]);
  assert.deepEqual([picture.width, picture.height], [2, 2]);
});

test("what matches lights up, and the rest fades", () => {
  const matched = Uint16Array.from([0, 0, 2, 0]);
  const picture = scopePixels({ grid, counts, matched, most: 4 }, 100, tones);
  assert.deepEqual([...picture.pixels], [22, 21, 1, 32]);
});

test("where there are more seconds than pixels, the fullest is drawn", () => {
  const picture = scopePixels({ grid, counts, matched: null, most: 4 }, 1, tones);
  assert.deepEqual([picture.width, [...picture.pixels]], [1, [12, 11]]);
});

for (const theme of ["dark", "light"] as const) {
  test(`more is always farther from the ground, ${theme}`, () => {
    const { heat, lit } = scopeTones(theme);
    for (const ramp of [heat, lit]) {
      const lightness = [...ramp].map(lightnessOf);
      const signs = lightness.slice(1).map((value, index) => Math.sign(value - (lightness[index] ?? 0)));
      assert.ok(signs.every((sign) => sign === 0 || sign === (theme === "dark" ? 1 : -1)));
    }
  });
}

function lightnessOf(packed: number): number {
  return 0.2126 * (packed & 255) + 0.7152 * ((packed >> 8) & 255) + 0.0722 * ((packed >> 16) & 255);
}
