// The canvas with the frames: its size, its scrolling, and what the mouse and the keyboard do on it.

import { element } from "../parts/element";
import { onTheme } from "../parts/theme";
import { boxAt, visibleBoxes, type Boxes } from "./boxes";
import { step } from "./keys";
import type { Layout } from "./layout";
import { depthOfLine, Painter, ROW_PIXELS, type Theme } from "./painter";
import { readTheme } from "./theme";
import type { Tree } from "./tree";

export interface Drawn {
  readonly tree: Tree;
  readonly layout: Layout;
  readonly colour: (node: number) => string;
}

export interface GraphHears {
  zoom(node: number): void;
  back(): void;
  reset(): void;
  focus(node: number): void;
  hover(node: number | null, x: number, y: number): void;
  search(): void;
}

const NARROWEST_SHOWN = 48; // pixels of a frame that is brought into view
const SPARE_ROWS = 2; // between the zoomed frame and the edge

export class Graph {
  readonly canvas = element("canvas", {
    class: "flame-canvas",
    tabindex: 0,
    role: "application",
    "aria-roledescription": "flame graph",
  });
  private readonly spacer = element("div", { class: "flame-spacer" }, this.canvas);
  readonly scroller = element("div", { class: "flame-scroll" }, this.spacer);
  private readonly painter = new Painter(this.canvas.getContext("2d", { alpha: false })!);
  private readonly ended = new AbortController();
  private drawn: Drawn | null = null;
  private boxes: Boxes = { rows: [], dust: [], drawn: 0 };
  private theme: Theme | null = null;
  private zoomed = 0;
  private focused = -1;
  private icicle = true;
  private lit: Uint8Array | null = null;
  private size = { width: 0, height: 0 };
  private frame = 0;

  constructor(private readonly hears: GraphHears) {
    const sizes = new ResizeObserver(() => this.resize());
    sizes.observe(this.scroller);
    this.ended.signal.addEventListener("abort", () => sizes.disconnect());
    onTheme(() => this.changeTheme(), this.ended.signal);
    this.scroller.addEventListener("scroll", () => this.drawSoon(), { passive: true });
    this.canvas.addEventListener("keydown", (event) => this.press(event));
    this.canvas.addEventListener("click", (event) => this.click(event));
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => hears.hover(null, 0, 0));
    this.canvas.addEventListener("blur", () => this.setFocus(-1));
  }

  get zoom(): number {
    return this.zoomed;
  }

  show(drawn: Drawn, zoom: number, icicle: boolean): void {
    const isSame = drawn === this.drawn && zoom === this.zoomed && icicle === this.icicle;
    if (isSame) return;
    if (drawn !== this.drawn) [this.focused, this.lit] = [-1, null];
    [this.drawn, this.zoomed, this.icicle] = [drawn, zoom, icicle];
    this.place();
    this.scrollToDepth(drawn.tree.depth[zoom]!);
    this.draw();
  }

  light(lit: Uint8Array | null): void {
    this.lit = lit;
    this.drawSoon();
  }

  /** The outermost frame to zoom to so that another can be seen well. */
  widestZoom(node: number): number {
    const { drawn } = this;
    if (!drawn) return 0;
    const { parent } = drawn.tree;
    const { width } = drawn.layout;
    const isWide = (zoom: number): boolean =>
      (width[node]! / width[zoom]!) * this.size.width >= NARROWEST_SHOWN;
    let zoom = node;
    for (let at = node; ; at = parent[at]!) {
      if (isWide(at)) zoom = at;
      if (at === 0) return zoom;
    }
  }

  scrollToNode(node: number): void {
    if (this.drawn) this.scrollToDepth(this.drawn.tree.depth[node]!, this.size.height / 2);
  }

  setFocus(node: number): void {
    if (node === this.focused) return;
    this.focused = node;
    if (node >= 0) this.keepInSight(node);
    this.drawSoon();
  }

  destroy(): void {
    cancelAnimationFrame(this.frame);
    this.ended.abort();
  }

  private changeTheme(): void {
    this.theme = null;
    this.drawSoon();
  }

  private resize(): void {
    const width = this.scroller.clientWidth;
    const height = this.scroller.clientHeight;
    if (width === this.size.width && height === this.size.height) return;
    this.size = { width, height };
    this.place();
    this.draw();
  }

  private place(): void {
    if (!this.drawn || !this.size.width) return;
    const { tree, layout } = this.drawn;
    this.boxes = visibleBoxes(tree, layout, this.zoomed, this.size.width);
    this.spacer.style.height = `${Math.max(this.boxes.rows.length * ROW_PIXELS, this.size.height)}px`;
  }

  private drawSoon(): void {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.draw());
  }

  draw(): void {
    const { drawn, size } = this;
    if (!drawn || !size.width) return;
    this.theme ??= readTheme(this.canvas);
    const ratio = devicePixelRatio || 1;
    const [width, height] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
    if (this.canvas.width !== width) this.canvas.width = width;
    if (this.canvas.height !== height) this.canvas.height = height;
    this.canvas.style.height = `${size.height}px`;
    const picture = { ...drawn, boxes: this.boxes, lit: this.lit, focus: this.focused, icicle: this.icicle };
    this.painter.paint(picture, { ...size, ratio, scrolled: this.scrolled }, this.theme);
  }

  /** How far the first line is above the canvas; below 0 where a short flame graph stands at the bottom. */
  private get scrolled(): number {
    const spare = this.size.height - this.boxes.rows.length * ROW_PIXELS;
    return this.scroller.scrollTop - (this.icicle ? 0 : Math.max(spare, 0));
  }

  private lineOf(depth: number): number {
    return depthOfLine(depth, this.boxes.rows.length, this.icicle);
  }

  private scrollToDepth(depth: number, margin = SPARE_ROWS * ROW_PIXELS): void {
    const top = this.lineOf(depth) * ROW_PIXELS;
    this.scroller.scrollTop = this.icicle ? top - margin : top + ROW_PIXELS + margin - this.size.height;
  }

  private keepInSight(node: number): void {
    const top = this.lineOf(this.drawn!.tree.depth[node]!) * ROW_PIXELS;
    const { scroller } = this;
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    const least = top + ROW_PIXELS - this.size.height;
    if (least > scroller.scrollTop) scroller.scrollTop = least;
  }

  private nodeAt(event: MouseEvent): number | null {
    const edges = this.canvas.getBoundingClientRect();
    const line = Math.floor((event.clientY - edges.top + this.scrolled) / ROW_PIXELS);
    const depth = depthOfLine(line, this.boxes.rows.length, this.icicle);
    return boxAt(this.boxes, depth, event.clientX - edges.left)?.node ?? null;
  }

  private point(event: PointerEvent): void {
    const node = event.pointerType === "touch" ? null : this.nodeAt(event);
    this.canvas.classList.toggle("is-over-frame", node !== null);
    this.hears.hover(node, event.clientX, event.clientY);
  }

  /** A finger cannot hover: its first tap tells about a frame, its second zooms. */
  private click(event: MouseEvent): void {
    const node = this.nodeAt(event);
    if (node === null) return;
    const isTouch = event instanceof PointerEvent && event.pointerType === "touch";
    if (isTouch && node !== this.focused) return this.tell(node);
    this.hears.zoom(node);
  }

  private tell(node: number): void {
    this.setFocus(node);
    this.hears.focus(node);
  }

  private press(event: KeyboardEvent): void {
    if (!this.drawn || event.ctrlKey || event.metaKey || event.altKey) return;
    const at = this.focused >= 0 ? this.focused : this.zoomed;
    if (event.key === "Enter" || event.key === " ") this.hears.zoom(at);
    else if (event.key === "Backspace") this.hears.back();
    else if (event.key === "Escape") this.hears.reset();
    else if (event.key === "/") this.hears.search();
    else if (/^(Arrow|Home)/.test(event.key)) {
      const { tree } = this.drawn;
      this.tell(this.focused < 0 ? at : step(tree, this.boxes, at, event.key, this.icicle));
    } else return;
    event.preventDefault();
  }
}
