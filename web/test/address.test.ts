import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULTS, hashOf, inView, parseAddress } from "../src/address";
import type { Address } from "../src/address";

const FULL: Address = {
  view: "moment",
  host: "web 1/ü&?#",
  begin: 1794848308929963,
  end: 1794848339210035,
  quantity: "softirq",
  order: "worst",
  a: [1794848310000000, 1794848315000000],
  b: [1794848316000000, 1794848317000000],
  cpus: [0, 95],
  processes: ["a b", "kubelet"],
  threads: ["x=1"],
  idle: true,
  search: "^shrink_.*&",
  regexp: true,
  onlyMatching: true,
  by: "core",
  inverted: true,
  icicle: true,
  zoom: "kubelet;shrink_node",
  mark: "kubelet;shrink%3Bnode;total",
  event: "nic-reset-20261116T165851.125Z-3",
  rows: 100,
  kinds: ["nic-reset", "oom-kill"],
  label: "labels/zone",
  group: "use1-az4 &=",
  heat: "hosts",
  part: "fixed",
  change: "units/ecs.service/enabled=disabled",
};

test("a link reproduces everything", () => {
  assert.deepEqual(parseAddress(hashOf(FULL)), FULL);
  assert.deepEqual(parseAddress(hashOf({ ...FULL, b: "quiet" })).b, "quiet");
});

test("the default address is short and parses to itself", () => {
  assert.equal(hashOf(DEFAULTS), "#overview");
  assert.deepEqual(parseAddress(""), DEFAULTS);
});

test("nonsense in a link is left at its default", () => {
  const address = parseAddress("#nowhere?begin=9&end=3&quantity=x&a=5..1&b=x&cpu=-1&cpu=2&rows=7&by=<b>");
  assert.deepEqual(address, { ...DEFAULTS, cpus: [2] });
  assert.equal(parseAddress("#moment?begin=NaN&end=1e999").begin, 0);
  assert.equal(parseAddress(`#moment?search=${"x".repeat(500)}`).search.length, 200);
});

test("another view keeps where and when, not what was chosen", () => {
  const there = inView(FULL, "diagnosis");
  assert.deepEqual([there.host, there.begin, there.end], [FULL.host, FULL.begin, FULL.end]);
  assert.deepEqual([there.a, there.cpus, there.search], [null, [], ""]);
});

test("between the days of a fleet and the minutes of a host no time is kept", () => {
  const there = inView(FULL, "fleet");
  assert.deepEqual([there.begin, there.end, there.kinds, there.group], [0, 0, FULL.kinds, ""]);
  assert.equal(inView({ ...FULL, view: "fleet" }, "moment").begin, 0);
  assert.equal(inView({ ...FULL, view: "fleet" }, "fleet").begin, FULL.begin);
});

test("the first view is for a link that says nothing", () => {
  assert.equal(parseAddress("", "fleet").view, "fleet");
  assert.equal(parseAddress("#nonsense?x=1", "fleet").view, "fleet");
  assert.equal(parseAddress("#?host=web-1", "fleet").view, "overview");
  assert.equal(parseAddress("#live", "fleet").view, "live");
});
