import assert from "node:assert/strict";
import { test } from "node:test";
import { growTree, nameOf, readTree } from "../src/flame/tree";
import { topFunctions } from "../src/flame/top_functions";
import { nodeAt, pathOf, shortName } from "../src/flame/path";
import { answerOf, nodeNamed, treeOf } from "./flame_trees";

const STACKS = { "b;x;y": 2, "a;z": 3, "a;x": 1 };

test("an answer becomes a tree with its children in the order of their names", () => {
  const tree = readTree(answerOf(STACKS));
  assert.equal(tree.count, 7);
  const below = (node: number): string[] =>
    [...tree.children.slice(tree.childBegin[node], tree.childBegin[node + 1])].map((one) =>
      nameOf(tree, one),
    );
  assert.deepEqual(below(0), ["a", "b"]);
  assert.deepEqual(below(nodeNamed(tree, "a")), ["x", "z"]);
  assert.equal(tree.deepest, 3);
  assert.equal(tree.depth[nodeNamed(tree, "b", "x", "y")], 3);
  assert.equal(tree.here.total[0], 6);
});

test("columns that make no tree are refused", () => {
  const words = (...numbers: number[]): Uint32Array => Uint32Array.from(numbers);
  const side = { total: words(1, 1), own: words(0, 1), seconds: 1 };
  const labels = [{ name: "all", kind: "root", module: "" }];
  assert.throws(() => growTree(words(0, 1), words(0, 0), labels, side, null), /before its parent/);
  assert.throws(() => growTree(words(0, 0, 0), words(0, 0), labels, side, null), /differ in length/);
});

test("a function that calls itself counts once a stack", () => {
  const tree = treeOf({ "p;f;g;f": 4, "p;g": 1 });
  const rows = topFunctions(tree, "total", 10).map((row) => [
    tree.labels[row.label]!.name,
    row.own,
    row.total,
  ]);
  assert.deepEqual(rows, [
    ["g", 1, 5],
    ["f", 4, 4],
  ]);
});

test("a path leads to the same frame in another tree, or as far as that has it", () => {
  const tree = treeOf(STACKS);
  const path = pathOf(tree, nodeNamed(tree, "b", "x", "y"));
  assert.equal(path.length, 12);
  const other = treeOf({ "0;k": 1, "a;x": 5, "b;w": 1, "b;x;y": 1, "b;x;y;more": 1 });
  assert.equal(nodeAt(other, path), nodeNamed(other, "b", "x", "y"));
  const shorter = treeOf({ "b;x": 1 });
  assert.equal(nodeAt(shorter, path), nodeNamed(shorter, "b", "x"));
  assert.equal(nodeAt(shorter, "no path at all"), 0);
  assert.match(shortName("native_queued_spin_lock_slowpath"), /^[\w-]{4}$/);
});
