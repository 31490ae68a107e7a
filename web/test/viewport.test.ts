import assert from "node:assert/strict";
import { test } from "node:test";
import {
  alignedRange,
  clamped,
  lengthUs,
  panned,
  partAt,
  stepFor,
  timeAt,
  zoomed,
} from "../src/heatmap/viewport";

const HOUR = 3_600_000_000;
const BOUNDS = { beginUs: 100 * HOUR, endUs: 172 * HOUR };
const VIEW = { beginUs: 120 * HOUR, endUs: 132 * HOUR };

test("zooming keeps the moment under the pointer in its place", () => {
  const near = zoomed(VIEW, 0.25, 0.3, BOUNDS);
  assert.equal(lengthUs(near), 3 * HOUR);
  assert.ok(Math.abs(partAt(near, timeAt(VIEW, 0.3)) - 0.3) < 1e-6);
});

test("zooming in and out again comes back", () => {
  const back = zoomed(zoomed(VIEW, 0.5, 0.7, BOUNDS), 2, 0.7, BOUNDS);
  assert.ok(Math.abs(back.beginUs - VIEW.beginUs) < 10 && Math.abs(back.endUs - VIEW.endUs) < 10);
});

test("one cannot get lost far from the recording, nor zoom below seconds", () => {
  const far = panned(VIEW, 1000, BOUNDS);
  assert.equal(lengthUs(far), lengthUs(VIEW));
  assert.ok(far.beginUs < BOUNDS.endUs);
  assert.equal(lengthUs(zoomed(VIEW, 1e-9, 0.5, BOUNDS)), 10_000_000);
  assert.ok(lengthUs(clamped({ beginUs: 0, endUs: 1e6 * HOUR }, BOUNDS)) <= 1.31 * lengthUs(BOUNDS));
});

test("columns are whole seconds, no more than pixels", () => {
  for (const hours of [0.01, 0.3, 1, 12, 24, 72, 720]) {
    const view = { beginUs: 120 * HOUR, endUs: (120 + hours) * HOUR };
    const step = stepFor(view, 1200);
    assert.equal(step % 1_000_000, 0);
    assert.ok(lengthUs(view) / step <= 1200, `${hours} h`);
  }
});

test("what is asked covers the viewport at multiples of the step, and its neighbourhood within the recording", () => {
  const exact = alignedRange(VIEW, 60_000_000, 0, BOUNDS);
  assert.deepEqual(exact, { begin_us: VIEW.beginUs, end_us: VIEW.endUs, columns: 720 });
  const wide = alignedRange({ beginUs: 100 * HOUR + 7, endUs: 112 * HOUR }, 60_000_000, 0.5, BOUNDS);
  assert.equal(wide.begin_us, 100 * HOUR);
  assert.equal(wide.end_us, 118 * HOUR);
});
