import assert from "node:assert/strict";
import { test } from "node:test";
import { corePixels } from "../src/heatmap/core_picture";
import { busyShare, coreGrid, indexAt, leadingKind, NOT_RECORDED, rowOrder } from "../src/heatmap/core_grid";
import { sharesText } from "../src/heatmap/core_heatmap";
import { heatRamp, kindRamp } from "../src/heatmap/colours";
import { rolled } from "../src/heatmap/rolling_grid";

const text = (...bytes: number[]): string => Buffer.from(bytes).toString("base64");
const SECOND = 1_000_000;

function grid(beginUs = 10 * SECOND) {
  return coreGrid({
    begin_us: beginUs,
    step_us: SECOND,
    columns: 3,
    cores: [4, 7],
    user: text(10, 20, 255, 90, 90, 90),
    system: text(5, 80, 255, 1, 1, 1),
    softirq: text(0, 10, 255, 2, 2, 2),
    steal: text(0, 0, 255, 0, 0, 0),
    wait: text(50, 0, 255, 0, 0, 0),
    damaged: [],
  });
}

test("busy is all but waiting, and what leads gives it its hue", () => {
  assert.equal(busyShare(grid(), 0), 15);
  assert.equal(busyShare(grid(), 1), 100); // rounded shares may add up to more
  assert.equal(leadingKind(grid(), 1), "system");
  assert.equal(leadingKind(grid(), 3), "user");
});

test("what was not recorded is neither a colour nor a number", () => {
  assert.equal(busyShare(grid(), 2), NOT_RECORDED);
  for (const quantity of ["busy", "system", "wait"] as const) {
    assert.equal(corePixels(grid(), quantity, "dark", [0, 1])[2], 0);
  }
  assert.equal(sharesText(grid(), 2), "not recorded");
  assert.match(sharesText(grid(), 1), /system 80 %\nsoftirq 10 %/);
});

test("pixels follow the order of the rows", () => {
  const pixels = corePixels(grid(), "system", "light", [1, 0]);
  assert.deepEqual([...pixels.subarray(0, 2)], [heatRamp("light")[1], heatRamp("light")[1]]);
  assert.equal(pixels[4], heatRamp("light")[80]);
});

test("the worst core comes first, within the range that is shown", () => {
  assert.deepEqual(rowOrder(grid(), "system", true, 10 * SECOND, 13 * SECOND), [0, 1]);
  assert.deepEqual(rowOrder(grid(), "user", true, 10 * SECOND, 13 * SECOND), [1, 0]);
  assert.deepEqual(rowOrder(grid(), "user", false, 10 * SECOND, 13 * SECOND), [0, 1]);
});

test("a moment outside of the grid has no cell", () => {
  assert.equal(indexAt(grid(), 1, 11.5 * SECOND), 4);
  assert.equal(indexAt(grid(), 1, 13 * SECOND), -1);
  assert.equal(indexAt(grid(), 1, 9 * SECOND), -1);
});

/** The relative luminance of WCAG. */
function luminance(colour: number): number {
  const part = (shift: number): number => {
    const value = ((colour >> shift) & 255) / 255;
    return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * part(0) + 0.7152 * part(8) + 0.0722 * part(16);
}

test("lightness alone tells how much, on every ramp", () => {
  for (const theme of ["dark", "light"] as const) {
    const way = theme === "dark" ? 1 : -1;
    for (const ramp of [
      heatRamp(theme),
      ...["user", "system", "softirq", "steal"].map((kind) => kindRamp(kind, theme)),
    ]) {
      for (let level = 10; level <= 100; level += 10) {
        assert.ok((luminance(ramp[level]!) - luminance(ramp[level - 10]!)) * way > 0, `${theme} ${level}`);
      }
    }
  }
});

test("live seconds move to the left and holes stay holes", () => {
  const first = rolled(null, grid(), 13 * SECOND, 5);
  assert.deepEqual([...first.shares.user.subarray(0, 5)], [255, 255, 10, 20, 255]);
  const second = rolled(first, grid(14 * SECOND), 17 * SECOND, 5);
  assert.deepEqual([...second.shares.user.subarray(0, 5)], [255, 255, 10, 20, 255]);
  assert.deepEqual([...second.shares.user.subarray(5)], [90, 255, 90, 90, 90]);
  const idle = rolled(second, null, 18 * SECOND, 5);
  assert.deepEqual([...idle.shares.user.subarray(5)], [255, 90, 90, 90, 255]);
});
