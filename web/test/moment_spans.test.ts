import assert from "node:assert/strict";
import { test } from "node:test";
import {
  beforeEvent,
  fitting,
  LONGEST_RANGE_US,
  minuteAround,
  rangeHolding,
  SHORTEST_RANGE_US,
  widened,
  zoomed,
} from "../src/views/moment/spans";

const SECOND = 1_000_000;
const range = [100 * SECOND, 160 * SECOND] as const;

test("a range stays where it is if it holds the selection", () => {
  assert.equal(rangeHolding(range, [100 * SECOND, 160 * SECOND]), range);
});

test("a range follows a selection that steps out of it, in whole seconds", () => {
  assert.deepEqual(rangeHolding(range, [98.5 * SECOND, 99 * SECOND]), [98 * SECOND, 158 * SECOND]);
  assert.deepEqual(rangeHolding(range, [160 * SECOND, 160.02 * SECOND]), [101 * SECOND, 161 * SECOND]);
});

test("widening adds a row at each end, and narrowing ends at one row", () => {
  assert.deepEqual(widened([SECOND, SECOND + 20_000], 1, 20_000), [980_000, 1_040_000]);
  assert.deepEqual(widened([SECOND, SECOND + 20_000], -1, 20_000), [SECOND, SECOND + 20_000]);
  assert.deepEqual(widened([0, 10 * SECOND], -1, 20_000), [SECOND, 9 * SECOND]);
});

test("zooming keeps the moment under the pointer and the limits", () => {
  assert.deepEqual(zoomed(range, 0.5, 130 * SECOND), [115 * SECOND, 145 * SECOND]);
  assert.deepEqual(zoomed(range, 0.5, 100 * SECOND), [100 * SECOND, 130 * SECOND]);
  const [shortBegin, shortEnd] = zoomed(range, 0.001, 130 * SECOND);
  assert.equal(shortEnd - shortBegin, SHORTEST_RANGE_US);
  const [longBegin, longEnd] = zoomed(range, 1e6, 130 * SECOND);
  assert.equal(longEnd - longBegin, LONGEST_RANGE_US);
});

test("the seconds before an event end with it, and its minute holds them", () => {
  const timeUs = 1_234_567_890;
  const [beginUs, endUs] = minuteAround(timeUs);
  assert.deepEqual(beforeEvent(timeUs), [timeUs - 5 * SECOND, timeUs]);
  assert.ok(beginUs < timeUs - 5 * SECOND && endUs > timeUs && endUs - beginUs === 60 * SECOND);
});

test("a range is made to fit what the server takes", () => {
  assert.deepEqual(fitting([0, 10 * 3600 * SECOND]), [8 * 3600 * SECOND, 10 * 3600 * SECOND]);
  assert.deepEqual(fitting([15.5 * SECOND, 19.2 * SECOND]), [10 * SECOND, 20 * SECOND]);
});
