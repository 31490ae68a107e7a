import assert from "node:assert/strict";
import { test } from "node:test";
import type { FleetConcentration, FleetMap, FleetNext, FleetWhere, HostForecast } from "../src/api/types";
import { parseChange } from "../src/views/fleet/fixed_part";
import {
  cellText,
  columnOfSpan,
  mapGrid,
  spanOfColumn,
  strongest,
  valueAt,
} from "../src/views/fleet/map_grid";
import { levelOf, mapPixels } from "../src/views/fleet/map_picture";
import {
  intervalText,
  percentText,
  rateText,
  shortNumber,
  timesText,
  valueText,
} from "../src/views/fleet/numbers";
import { lastPart, rangeOf } from "../src/views/fleet/range";
import { partOn, ratioScale, waitScale } from "../src/views/fleet/scale";
import { nextWords, whereWords } from "../src/views/fleet/verdict";

const HOUR_US = 3_600_000_000;
const DAY_US = 24 * HOUR_US;
const BEGIN_US = 1_794_787_200_000_000;

function packed(values: number[]): string {
  return Buffer.from(new Uint32Array(values).buffer).toString("base64");
}

const group = { hosts: 10, affected: 1, episodes: 1, host_hours: 20, is_unknown: false };
const MAP: FleetMap = {
  label: "labels/zone",
  kinds: ["nic-reset"],
  begin_us: BEGIN_US,
  step_us: 2 * HOUR_US,
  columns: 2,
  groups: [
    { ...group, name: "a" },
    { ...group, name: "unknown", is_unknown: true },
  ],
  left_out: 0,
  episodes: packed([4, 0, 0, 1]),
  affected: packed([2, 0, 0, 1]),
  recorded_seconds: packed([72_000, 0, 36_000, 36_000]),
};
const RAMP = Uint32Array.from({ length: 101 }, (_, level) => 1000 + level);

test("a cell is a rate, or a share of the hosts, or not recorded", () => {
  const grid = mapGrid(MAP);
  assert.equal(valueAt(grid, "rate", 0), (4 / 20) * 1000);
  assert.equal(valueAt(grid, "hosts", 0), 2 / 10); // 20 host-hours in 2 hours: ten hosts
  assert.ok(Number.isNaN(valueAt(grid, "rate", 1)));
  assert.match(cellText(grid, { row: 0, column: 1 }), /not recorded/);
  assert.match(cellText(grid, { row: 0, column: 0 }), /4 episodes on 2 hosts/);
});

test("what is not recorded is transparent, and so is a quiet hour of hosts that are not known", () => {
  const pixels = mapPixels(mapGrid(MAP), "rate", RAMP);
  assert.ok(pixels[0]! > 1000);
  assert.deepEqual([pixels[1], pixels[2]], [0, 0]);
  assert.ok(pixels[3]! > 1000);
});

test("something is always told apart from nothing", () => {
  assert.equal(levelOf(0, 10), 0);
  assert.ok(levelOf(0.001, 10) > 15);
  assert.equal(levelOf(10, 10), 100);
  assert.equal(levelOf(1e9, 10), 100);
  assert.equal(levelOf(NaN, 10), -1);
});

test("one odd cell does not set the scale", () => {
  const columns = 100;
  const episodes = Array.from({ length: columns }, (_, at) => (at === 50 ? 5000 : 5));
  const grid = mapGrid({
    ...MAP,
    columns,
    groups: [MAP.groups[0]!],
    episodes: packed(episodes),
    affected: packed(episodes),
    recorded_seconds: packed(episodes.map(() => 3600)),
  });
  assert.equal(strongest(grid, "rate"), 5000);
});

test("a cell is found again by its time", () => {
  const grid = mapGrid(MAP);
  assert.equal(columnOfSpan(grid, spanOfColumn(grid, 1)), 1);
  assert.equal(columnOfSpan(grid, null), -1);
  assert.equal(columnOfSpan(grid, [BEGIN_US + 1, BEGIN_US + 2]), -1);
  assert.equal(columnOfSpan(grid, [BEGIN_US + 9 * DAY_US, BEGIN_US + 10 * DAY_US]), -1);
});

test("the last seven days in whole hours, unless the address says otherwise", () => {
  const bounds = { begin_us: BEGIN_US, end_us: BEGIN_US + 30 * DAY_US + 5 };
  const [begin, end] = rangeOf(bounds, 0, 0);
  assert.deepEqual([(end - begin) / DAY_US, end % HOUR_US], [7, 0]);
  assert.ok(end >= bounds.end_us);
  assert.deepEqual(rangeOf(bounds, BEGIN_US, BEGIN_US + 5), [BEGIN_US, BEGIN_US + 5]);
  assert.equal(lastPart({ begin_us: BEGIN_US, end_us: BEGIN_US + 3 * HOUR_US }, 7 * DAY_US)[0], BEGIN_US);
});

test("1 stands in the middle of ratios", () => {
  const scale = ratioScale([{ value: 7.7, low: 4.7, high: 12.4 }]);
  assert.equal(partOn(scale, 1), 0.5);
  assert.equal(scale.high, 16);
  assert.deepEqual([partOn(scale, 0), partOn(scale, Infinity)], [0, 1]);
  assert.ok(ratioScale([{ value: null, low: null, high: null }]).high === 4);
  assert.ok(ratioScale([{ value: 1e9, low: 0, high: null }]).high === 128);
});

test("soon is left of late", () => {
  const scale = waitScale();
  const parts = [60, 3600, 86_400, 7 * 86_400, 1e9].map((seconds) => partOn(scale, seconds));
  assert.deepEqual(parts, [...parts].sort());
});

test("numbers in words", () => {
  assert.deepEqual([0, 0.0623, 1.24, 12.4, 5000].map(shortNumber), ["0", "0.062", "1.2", "12", "5,000"]);
  assert.equal(timesText(null), "not known");
  assert.equal(intervalText({ low: 1.5, high: null }), "1.5 or more");
  assert.equal(intervalText({ low: 4.69, high: 12.44 }), "4.7 to 12");
  assert.equal(rateText(3, 0), "not recorded");
  assert.deepEqual([0, 0.0001, 0.051, 0.5].map(percentText), ["0 %", "< 0.1 %", "5.1 %", "50 %"]);
  assert.equal(valueText("labels/zone", "b"), "zone = b");
});

test("a roll-out is a fact and its value, which may have signs of its own", () => {
  assert.deepEqual(parseChange("units/ecs.service/enabled=disabled"), {
    label: "units/ecs.service/enabled",
    value: "disabled",
  });
  assert.deepEqual(parseChange("sysctls/a=b=c"), { label: "sysctls/a", value: "b=c" });
  for (const text of ["", "zone", "zone=a", "labels/zone="]) assert.equal(parseChange(text), null);
});

const few = { hosts: 471, affected: 67, episodes: 80, host_hours: 1000 };
const ROW: FleetConcentration = {
  label: "labels/zone",
  value: "b",
  inside: few,
  outside: few,
  rate_ratio: 9.5,
  interval: { low: 5.4, high: 16 },
  p: 0,
  q: 0,
  standing: "concentrates",
  ratio_among_alike: null,
  interval_among_alike: null,
  follows: [],
  cannot_tell_apart_from: ["labels/image=x"],
  sentence: "",
};
const WHERE: FleetWhere = {
  kinds: ["nic-reset"],
  total: few,
  tested: 1,
  concentrations: [ROW],
  left_out: 0,
  unknown_hosts: 0,
  note: "",
};

test("the verdict names what concentrates, and what it cannot be told apart from", () => {
  const [level, , text] = whereWords(WHERE);
  assert.equal(level, "trouble");
  assert.match(text, /zone = b, or image=x: 9\.5x \(5\.4 to 16\)/);
  assert.equal(whereWords({ ...WHERE, concentrations: [{ ...ROW, standing: "follows" }] })[0], "unknown");
  assert.equal(whereWords({ ...WHERE, total: { ...few, episodes: 0 } })[0], "healthy");
});

test("the verdict names who is next", () => {
  const host: HostForecast = {
    host: "web-1",
    outlook: "ahead",
    tracked: 1,
    zombies: 1,
    wall_level: 2,
    per_hour: 1,
    per_hour_interval: null,
    seconds: 7200,
    earliest_seconds: 3600,
    latest_seconds: null,
    hours_seen: 6,
    last_us: BEGIN_US,
  };
  const next: FleetNext = {
    end_us: BEGIN_US,
    hosts: 9,
    growing: 2,
    beyond: 0,
    forecasts: [host],
    left_out: 0,
    note: "",
  };
  assert.deepEqual(nextWords(next).slice(0, 2), ["trouble", "Next"]);
  assert.match(nextWords(next)[2], /web-1, in 2 h/);
  const gone = { ...host, host: "web-0", outlook: "beyond", seconds: 0 };
  assert.match(nextWords({ ...next, beyond: 1, forecasts: [gone, host] })[2], /web-1.*; 1 host is beyond/);
  assert.equal(nextWords({ ...next, beyond: 1, forecasts: [gone] })[1], "Beyond");
  assert.equal(
    nextWords({ ...next, forecasts: [{ ...host, seconds: null, outlook: "no trend" }] })[0],
    "healthy",
  );
});
