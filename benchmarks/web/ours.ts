// Our pictures, as the page draws them; bench_page.py calls these.

import type { Flame } from "../../web/src/api/types";
import { flameGraph, type FlameLook } from "../../web/src/flame";
import { pathOf } from "../../web/src/flame/path";
import { readTree } from "../../web/src/flame/tree";
import { scopeHeatmap } from "../../web/src/heatmap/scope_heatmap";
import "../../web/src/style/index.css";
import { counts, ROWS } from "./counts";
import { flushed, freshPlace, measure, type Times } from "./measured";
import { growTree } from "./tree";

const LOOK: FlameLook = { inverted: false, icicle: true, search: "", regexp: false, zoom: "" };

function answer(nodes: number): Flame {
  const { parent, label, total, own, names } = growTree(nodes);
  const side = { idle: 0, unknown: 0, lost: 0, seconds: 30, notes: [], damaged: [] };
  return {
    ...side,
    title: "generated",
    samples: total[0]!,
    nodes,
    parent: words(parent),
    label: words(label),
    total: words(total),
    own: words(own),
    baseline_total: null,
    baseline_own: null,
    baseline: null,
    labels: names.map((name) => ({ name, kind: "kernel", module: "" })),
  };
}

function words(numbers: number[]): string {
  const bytes = new Uint8Array(Uint32Array.from(numbers).buffer);
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000)
    text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}

/** From the server's answer to the picture, and to that of the widest child. */
async function ourFlame(nodes: number): Promise<Times> {
  const flame = answer(nodes);
  const tree = readTree(flame);
  const below = [...tree.children.slice(tree.childBegin[0], tree.childBegin[1])];
  below.sort((one, other) => tree.here.total[other]! - tree.here.total[one]!);
  const zoom = pathOf(tree, below[0]!);
  const place = freshPlace();
  const graph = flameGraph(place, { onZoom: () => {}, onMark: () => {}, onFind: () => {} });
  const times = {
    draw: await measure(
      () => graph.show(flame, LOOK),
      () => flushed(place),
    ),
    zoom: await measure(
      () => graph.show(flame, { ...LOOK, zoom }),
      () => flushed(place),
    ),
  };
  graph.destroy();
  return times;
}

async function ourHeatmap(columns: number): Promise<number> {
  const ended = new AbortController();
  const place = freshPlace();
  const heat = scopeHeatmap(place, ended.signal);
  heat.target.style.height = "600px";
  const cells = counts(columns);
  heat.frame([0, columns * 1_000_000], ROWS);
  const grid = { beginUs: 0, columns, rows: ROWS };
  const scope = { grid, counts: cells, matched: null, most: 60 };
  const time = await measure(
    () => heat.show(scope),
    () => flushed(place),
  );
  ended.abort();
  return time;
}

Object.assign(window, { ourFlame, ourHeatmap });
