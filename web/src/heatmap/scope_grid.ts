// Where a moment lies in the scope: a column is a second, a row a fraction of it, the earliest at the bottom.

export const SECOND_US = 1_000_000;

/** A stretch of time in microseconds UTC; the end is not part of it. */
export type Span = readonly [number, number];

/** What is on the screen; `beginUs` need not be a whole second of the clock. */
export interface Grid {
  readonly beginUs: number;
  readonly columns: number;
  readonly rows: number;
}

export interface Cell {
  readonly column: number;
  readonly row: number;
}

/** A rectangle in cells, from the top left as screens count. */
export interface Block {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export function rowUs(grid: Grid): number {
  return SECOND_US / grid.rows;
}

export function spanOf(grid: Grid): Span {
  return [grid.beginUs, grid.beginUs + grid.columns * SECOND_US];
}

/** The grid that shows a range in whole seconds. */
export function gridOver(range: Span, rows: number): Grid {
  const beginUs = Math.floor(range[0] / SECOND_US) * SECOND_US;
  return { beginUs, columns: Math.max(Math.ceil((range[1] - beginUs) / SECOND_US), 1), rows };
}

/** The cell under a point given as fractions of the picture, from its top left. */
export function cellAt(grid: Grid, across: number, down: number): Cell {
  return {
    column: within(Math.floor(across * grid.columns), grid.columns),
    row: within(Math.floor((1 - down) * grid.rows), grid.rows),
  };
}

export function spanOfCell(grid: Grid, cell: Cell): Span {
  const beginUs = grid.beginUs + cell.column * SECOND_US + cell.row * rowUs(grid);
  return [beginUs, beginUs + rowUs(grid)];
}

export function secondOfCell(grid: Grid, cell: Cell): Span {
  const beginUs = grid.beginUs + cell.column * SECOND_US;
  return [beginUs, beginUs + SECOND_US];
}

/** From the earlier of two cells to the end of the later one. */
export function spanBetween(grid: Grid, first: Cell, second: Cell): Span {
  const one = spanOfCell(grid, first);
  const other = spanOfCell(grid, second);
  return [Math.min(one[0], other[0]), Math.max(one[1], other[1])];
}

/** The rectangles that a span covers: the rest of its first second, whole seconds, a part of its last. */
export function blocksOf(grid: Grid, span: Span): Block[] {
  const first = cellIndex(grid, span[0], Math.floor);
  const end = cellIndex(grid, span[1], Math.ceil);
  if (end <= first) return [];
  const firstColumn = Math.floor(first / grid.rows);
  const lastColumn = Math.floor((end - 1) / grid.rows);
  const from = first - firstColumn * grid.rows;
  const to = end - lastColumn * grid.rows;
  if (firstColumn === lastColumn) return [block(grid, firstColumn, 1, from, to)];
  const blocks: Block[] = [];
  if (from > 0) blocks.push(block(grid, firstColumn, 1, from, grid.rows));
  const wholeFrom = from > 0 ? firstColumn + 1 : firstColumn;
  const wholeTo = to < grid.rows ? lastColumn : lastColumn + 1;
  if (wholeTo > wholeFrom) blocks.push(block(grid, wholeFrom, wholeTo - wholeFrom, 0, grid.rows));
  if (to < grid.rows) blocks.push(block(grid, lastColumn, 1, 0, to));
  return blocks;
}

/** The whole seconds of a grid in which nothing was recorded. */
export function unrecorded(grid: Grid, recorded: readonly Span[]): Span[] {
  const [beginUs, endUs] = spanOf(grid);
  const gaps: Span[] = [];
  let fromUs = beginUs;
  for (const [firstUs, lastUs] of recorded) {
    gaps.push([fromUs, Math.min(Math.floor(firstUs / SECOND_US) * SECOND_US, endUs)]);
    fromUs = Math.max(Math.ceil(lastUs / SECOND_US) * SECOND_US, fromUs);
  }
  gaps.push([fromUs, endUs]);
  return gaps.filter(([from, to]) => from < to);
}

function block(grid: Grid, column: number, columns: number, from: number, to: number): Block {
  return { x: column, y: grid.rows - to, width: columns, height: to - from };
}

function cellIndex(grid: Grid, timeUs: number, round: (value: number) => number): number {
  // A brushed edge lies on a row; what is left of a division must not push it to the next.
  const exact = Math.round(((timeUs - grid.beginUs) / rowUs(grid)) * 1000) / 1000;
  return Math.min(Math.max(round(exact), 0), grid.columns * grid.rows);
}

function within(index: number, count: number): number {
  return Math.min(Math.max(index, 0), count - 1);
}
