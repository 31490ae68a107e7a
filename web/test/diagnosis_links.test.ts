import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULTS, parseAddress } from "../src/address";
import { valueText } from "../src/views/diagnosis/evidence";
import { instantLink, spanLink } from "../src/views/diagnosis/moment_links";

const SECOND = 1_000_000;
const ADDRESS = {
  ...DEFAULTS,
  view: "diagnosis" as const,
  host: "node-17",
  begin: 1_000 * SECOND,
  end: 9_000 * SECOND,
};

test("a link of the chain opens its seconds against quiet ones, on its core", () => {
  const moment = parseAddress(spanLink(ADDRESS, 2_000 * SECOND, 2_005 * SECOND, 3));
  assert.deepEqual([moment.view, moment.host, moment.b, moment.cpus], ["moment", "node-17", "quiet", [3]]);
  assert.deepEqual(moment.a, [2_000 * SECOND, 2_005 * SECOND]);
  assert.deepEqual([moment.begin, moment.end], [1_970 * SECOND, 2_035 * SECOND]);
});

test("a moment opens the five seconds before it", () => {
  const moment = parseAddress(instantLink(ADDRESS, 2_000 * SECOND, null));
  assert.deepEqual(moment.a, [1_995 * SECOND, 2_000 * SECOND]);
  assert.deepEqual(moment.cpus, []);
});

test("a value is written with its unit", () => {
  assert.equal(valueText({ value: 6586, unit: "cgroups" }), "6,586 cgroups");
  assert.equal(valueText({ value: "enabled", unit: "" }), "enabled");
});
