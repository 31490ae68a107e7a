import assert from "node:assert/strict";
import { test } from "node:test";
import { boxAt, visibleBoxes } from "../src/flame/boxes";
import { step } from "../src/flame/keys";
import { layOut } from "../src/flame/layout";
import { change, largestChange, percent, shareHere, wholesOf } from "../src/flame/shares";
import { TextFit } from "../src/flame/text_fit";
import { nameOf } from "../src/flame/tree";
import { nodeNamed, treeOf } from "./flame_trees";

test("children lie within their parent, side by side", () => {
  const tree = treeOf({ "a;x": 1, "a;y": 2, b: 1 });
  const { start, width } = layOut(tree);
  const [x, y, b] = [nodeNamed(tree, "a", "x"), nodeNamed(tree, "a", "y"), nodeNamed(tree, "b")];
  assert.deepEqual([start[x], width[x]], [0, 0.25]);
  assert.deepEqual([start[y], width[y]], [0.25, 0.5]);
  assert.deepEqual([start[b], width[b]], [0.75, 0.25]);
});

test("a difference has room for what vanished, and goes by time", () => {
  const tree = treeOf({ "p;new": [10, 0], "p;gone": [0, 20] }, 1, 2); // both 10 a second
  const { width } = layOut(tree);
  assert.equal(width[nodeNamed(tree, "p", "new")], 0.5);
  assert.equal(width[nodeNamed(tree, "p", "gone")], 0.5);
  const wholes = wholesOf(tree);
  assert.equal(change(tree, wholes, nodeNamed(tree, "p", "new")), 1);
  assert.equal(change(tree, wholes, nodeNamed(tree, "p", "gone")), -1);
  assert.equal(change(tree, wholes, 0), 0);
  assert.equal(largestChange(tree, wholes), 1);
});

test("100 % is what the busier side has", () => {
  const tree = treeOf({ p: [1, 100] }, 1, 1);
  assert.equal(shareHere(tree, wholesOf(tree), 0), 0.01);
});

test("frames narrower than half a pixel become dust, and the rest is found again by its place", () => {
  const stacks: Record<string, number> = { "p;wide": 900 };
  for (let number = 0; number < 100; number++) stacks[`p;narrow${number}`] = 1;
  const tree = treeOf(stacks);
  const boxes = visibleBoxes(tree, layOut(tree), 0, 100);
  assert.deepEqual(
    boxes.rows.map((row) => row.length),
    [1, 1, 1],
  );
  assert.equal(boxes.dust[2]!.length, 1);
  assert.ok(Math.abs(boxes.dust[2]![0]!.width - 10) < 1e-9);
  assert.equal(nameOf(tree, boxAt(boxes, 2, 50)!.node), "wide");
  assert.equal(boxAt(boxes, 2, 5), null);
  assert.equal(boxAt(boxes, 9, 5), null);
});

test("a zoom takes the whole width and keeps the way back", () => {
  const tree = treeOf({ "a;x;y": 1, "a;z": 9, b: 90 });
  const x = nodeNamed(tree, "a", "x");
  const boxes = visibleBoxes(tree, layOut(tree), x, 200);
  assert.deepEqual(
    boxes.rows.map((row) =>
      row.map((box) => [nameOf(tree, box.node), Math.round(box.x), Math.round(box.width)]),
    ),
    [[["all", 0, 200]], [["a", 0, 200]], [["x", 0, 200]], [["y", 0, 200]]],
  );
});

test("arrow keys lead to the parent, the widest child and what stands beside it", () => {
  const tree = treeOf({ "a;x": 1, "a;y": 2, b: 1 });
  const boxes = visibleBoxes(tree, layOut(tree), 0, 400);
  const [a, b, y] = [nodeNamed(tree, "a"), nodeNamed(tree, "b"), nodeNamed(tree, "a", "y")];
  assert.equal(step(tree, boxes, a, "ArrowUp", false), y);
  assert.equal(step(tree, boxes, a, "ArrowDown", true), y);
  assert.equal(step(tree, boxes, a, "ArrowDown", false), 0);
  assert.equal(step(tree, boxes, a, "ArrowRight", false), b);
  assert.equal(step(tree, boxes, b, "ArrowRight", false), b);
  assert.equal(step(tree, boxes, y, "Home", false), 0);
});

test("a name is cut where its box ends", () => {
  const fit = new TextFit((letter) => (letter === "…" ? 10 : 5));
  assert.equal(fit.fit("shrink_node", 55), "shrink_node");
  assert.equal(fit.fit("shrink_node", 54), "shrink_n…");
  assert.equal(fit.fit("shrink_node", 20), "");
  assert.equal(fit.fit("😀😀😀😀😀😀", 29), "😀😀😀…");
});

test("shares keep two digits", () => {
  assert.deepEqual([0, 0.5, 0.05, 0.00012].map(percent), ["0.0 %", "50.0 %", "5.0 %", "0.012 %"]);
});
