// The peers with the same data, without the page's style; bench_page.py calls these.

// @ts-expect-error: the peers bring no types
import flamegraph from "d3-flame-graph";
// @ts-expect-error: the same
import { heatmap } from "d3-heatmap2";
// @ts-expect-error: the same
import { select } from "d3-selection";
import { counts, ROWS } from "./counts";
import { freshPlace, measure, type Times } from "./measured";
import { growTree, type Node } from "./tree";

async function peerFlame(nodes: number): Promise<Times> {
  const { root } = growTree(nodes);
  const place = freshPlace();
  const chart = flamegraph().width(1600).transitionDuration(0);
  const draw = await measure(() => select(place).datum(root).call(chart));
  const shown = select(place).datum() as { children: { data: Node; value: number }[] };
  const widest = [...shown.children].sort((one, other) => other.value - one.value)[0];
  return { draw, zoom: await measure(() => chart.zoomTo(widest)) };
}

async function peerHeatmap(columns: number): Promise<number> {
  const cells = counts(columns);
  const rows = Array.from({ length: columns }, (_, column) => [
    ...cells.subarray(column * ROWS, (column + 1) * ROWS),
  ]);
  const place = freshPlace();
  return measure(() => select(place).datum(rows).call(heatmap().width(1600)));
}

Object.assign(window, { peerFlame, peerHeatmap });
