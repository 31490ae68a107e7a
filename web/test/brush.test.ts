import assert from "node:assert/strict";
import { test } from "node:test";
import { draggedSpan, oppositeEdge, sideOf } from "../src/heatmap/brush";

const grid = { beginUs: 0, columns: 60, rows: 50 };

test("a drag selects from where it began to the pointer", () => {
  const from = { column: 5, row: 10 };
  assert.deepEqual(draggedSpan(grid, from, { column: 6, row: 0 }, null), [5_200_000, 6_020_000]);
  assert.deepEqual(draggedSpan(grid, from, { column: 4, row: 49 }, null), [4_980_000, 5_220_000]);
});

test("a handle moves its edge and the other one stays", () => {
  const span = [5_000_000, 10_000_000] as const;
  const from = { column: 10, row: 0 };
  const kept = oppositeEdge(grid, span, "end");
  assert.deepEqual(draggedSpan(grid, from, { column: 12, row: 24 }, kept), [5_000_000, 12_500_000]);
  const keptEnd = oppositeEdge(grid, span, "begin");
  assert.deepEqual(draggedSpan(grid, from, { column: 2, row: 0 }, keptEnd), [2_000_000, 10_000_000]);
});

test("a handle dragged over the other edge turns the span around it", () => {
  const kept = oppositeEdge(grid, [5_000_000, 10_000_000], "end");
  assert.deepEqual(
    draggedSpan(grid, { column: 9, row: 49 }, { column: 3, row: 0 }, kept),
    [3_000_000, 5_020_000],
  );
});

test("Ctrl, Meta and Alt select B", () => {
  const none = { ctrlKey: false, metaKey: false, altKey: false };
  assert.equal(sideOf(none, "a"), "a");
  assert.equal(sideOf(none, "b"), "b");
  for (const key of ["ctrlKey", "metaKey", "altKey"])
    assert.equal(sideOf({ ...none, [key]: true }, "a"), "b");
});
