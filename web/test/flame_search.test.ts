import assert from "node:assert/strict";
import { test } from "node:test";
import { litByLabels, litByNames } from "../src/flame/lit";
import { matchRegexp, matchText, mayRunAway, SearchError } from "../src/flame/matching";
import { contrast, KINDS, LESS, MORE, shadesOf, stepsTo, TEXT } from "../src/flame/colours";
import { nodeNamed, treeOf } from "./flame_trees";

const TREE = treeOf({
  "kubelet;shrink;lock": 6,
  "java;shrink": 2,
  "java (17);main": 1,
  "all in one;main": 1,
});

test("a search counts every sample once", () => {
  const lit = litByLabels(TREE, matchText(TREE.labels, "SHRINK"));
  assert.equal(lit.share, 0.8);
  assert.equal(lit.widest, nodeNamed(TREE, "kubelet", "shrink"));
  assert.equal(litByLabels(TREE, matchText(TREE.labels, "k")).share, 0.8); // kubelet, its shrink, its lock
  assert.equal(litByLabels(TREE, matchText(TREE.labels, "all")).share, 0.1); // the root is no frame
  assert.equal(litByLabels(TREE, matchText(TREE.labels, "nowhere")).widest, -1);
});

test("a suspect is lit only in its process", () => {
  const lit = litByNames(TREE, { process: "kubelet", function: "shrink" });
  assert.deepEqual([lit.share, lit.widest], [0.6, nodeNamed(TREE, "kubelet", "shrink")]);
  assert.equal(lit.nodes[nodeNamed(TREE, "java", "shrink")], 0);
  assert.equal(litByNames(TREE, { process: "", function: "shrink" }).share, 0.8);
  assert.equal(litByNames(TREE, { process: "java", function: "" }).share, 0.3); // by its number too
  assert.equal(litByNames(TREE, { process: "gone", function: "" }).share, 0);
});

test("without processes in the tree a suspect is lit by its function", () => {
  assert.equal(litByNames(TREE, { process: "not in the tree", function: "shrink" }).share, 0.8);
});

test("regular expressions match names, and wrong ones are told", async () => {
  const found = await matchRegexp(TREE.labels, "^(shrink|lock)$");
  assert.deepEqual(
    TREE.labels.filter((_, number) => found[number]).map((label) => label.name),
    ["shrink", "lock"],
  );
  await assert.rejects(matchRegexp(TREE.labels, "("), SearchError);
});

test("where nothing could end it, an expression that may run away is refused", async () => {
  for (const source of ["(a+)+$", "(a|aa)*b", "((ab)*c)*", "(x)\\1", "a*a*a*a*b"])
    assert.ok(mayRunAway(source), source);
  for (const source of ["^shrink_", "(read|write)$", "tcp.*recv", "[a+]+x", "\\(\\+\\)"]) {
    assert.ok(!mayRunAway(source), source);
  }
  await assert.rejects(matchRegexp(TREE.labels, "(a+)+$"), /takes too long/);
});

test("text can be read on every colour of a frame", () => {
  const colours = [...Object.keys(KINDS).flatMap(shadesOf), ...stepsTo(LESS), ...stepsTo(MORE)];
  for (const colour of colours) assert.ok(contrast(TEXT, colour) >= 4.5, colour.join());
});
