import assert from "node:assert/strict";
import { test } from "node:test";
import {
  blocksOf,
  cellAt,
  gridOver,
  secondOfCell,
  spanBetween,
  spanOfCell,
  unrecorded,
} from "../src/heatmap/scope_grid";

const grid = { beginUs: 1_000_000_000, columns: 60, rows: 50 };

test("the earliest row is at the bottom", () => {
  assert.deepEqual(cellAt(grid, 0, 0.999), { column: 0, row: 0 });
  assert.deepEqual(cellAt(grid, 0.999, 0), { column: 59, row: 49 });
});

test("a point outside of the picture is the nearest cell", () => {
  assert.deepEqual(cellAt(grid, -3, 7), { column: 0, row: 0 });
  assert.deepEqual(cellAt(grid, 1, 0), { column: 59, row: 49 });
});

test("a cell is a row of a second, and its second is the whole column", () => {
  assert.deepEqual(spanOfCell(grid, { column: 2, row: 3 }), [1_002_060_000, 1_002_080_000]);
  assert.deepEqual(secondOfCell(grid, { column: 2, row: 3 }), [1_002_000_000, 1_003_000_000]);
});

test("a span between two cells is the same in both directions", () => {
  const early = { column: 1, row: 49 };
  const late = { column: 3, row: 0 };
  assert.deepEqual(spanBetween(grid, early, late), [1_001_980_000, 1_003_020_000]);
  assert.deepEqual(spanBetween(grid, late, early), spanBetween(grid, early, late));
});

test("a span covers the rest of its first second, whole seconds, and a part of its last", () => {
  assert.deepEqual(blocksOf(grid, [1_001_980_000, 1_003_020_000]), [
    { x: 1, y: 0, width: 1, height: 1 },
    { x: 2, y: 0, width: 1, height: 50 },
    { x: 3, y: 49, width: 1, height: 1 },
  ]);
  assert.deepEqual(blocksOf(grid, [1_001_000_000, 1_003_000_000]), [{ x: 1, y: 0, width: 2, height: 50 }]);
  assert.deepEqual(blocksOf(grid, [1_001_020_000, 1_001_060_000]), [{ x: 1, y: 47, width: 1, height: 2 }]);
});

test("what lies outside of the picture has no blocks, and what reaches out is cut", () => {
  assert.deepEqual(blocksOf(grid, [0, 1_000_000_000]), []);
  assert.deepEqual(blocksOf(grid, [0, 1_001_000_000]), [{ x: 0, y: 0, width: 1, height: 50 }]);
});

test("edges of every row count lie on rows", () => {
  for (const rows of [10, 20, 25, 50, 100]) {
    const fine = { ...grid, rows };
    for (let row = 0; row < rows; row++) {
      const [only, ...more] = blocksOf(fine, spanOfCell(fine, { column: 7, row }));
      assert.deepEqual([only, more], [{ x: 7, y: rows - 1 - row, width: 1, height: 1 }, []]);
    }
  }
});

test("a grid over a range begins and ends at whole seconds", () => {
  assert.deepEqual(gridOver([5_300_000, 9_100_000], 20), { beginUs: 5_000_000, columns: 5, rows: 20 });
});

test("what is before, between and after recordings is not recorded, in whole seconds", () => {
  const S = 1_000_000;
  assert.deepEqual(unrecorded(grid, [[990 * S, 1070 * S]]), []);
  assert.deepEqual(unrecorded(grid, [[1001.5 * S, 1058.5 * S]]), [
    [1000 * S, 1001 * S],
    [1059 * S, 1060 * S],
  ]);
  const two: [number, number][] = [
    [990 * S, 1010.2 * S],
    [1020.9 * S, 1070 * S],
  ];
  assert.deepEqual(unrecorded(grid, two), [[1011 * S, 1020 * S]]);
  assert.deepEqual(unrecorded(grid, [[1 * S, 2 * S]]), [[1000 * S, 1060 * S]]);
  assert.deepEqual(unrecorded(grid, []), [[1000 * S, 1060 * S]]);
});
