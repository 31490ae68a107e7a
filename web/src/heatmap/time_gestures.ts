// Pointer, wheel, touch and keys over a picture of time, as panning, zooming, brushing and clicking.
// All places are parts (0 to 1) of the element's width.

export interface Gestures {
  pan(part: number): void; // how far the viewport moves, in its own lengths
  zoom(factor: number, at: number): void;
  brush(from: number, to: number, isDone: boolean): void;
  click(at: number, event: PointerEvent): void;
  hover(event: PointerEvent | null): void;
  enter(): void;
  isBrushing(): boolean; // a drag without a key brushes, as fingers have no Shift
}

const CLICK_PIXELS = 5;
const KEY_PAN = 0.1;
const KEY_ZOOM = 1.5;

export function listen(target: HTMLElement, gestures: Gestures, signal: AbortSignal): void {
  const pointers = new Map<number, number>(); // id -> part
  let start = 0;
  let startX = 0;
  let isBrush = false;
  let hasMoved = false;

  const partOf = (event: MouseEvent): number => {
    const box = target.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - box.left) / Math.max(1, box.width)));
  };

  function down(event: PointerEvent): void {
    if (event.button !== 0) return;
    target.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, partOf(event));
    if (pointers.size > 1) {
      hasMoved = true; // two fingers never click
      return;
    }
    [start, startX, hasMoved] = [partOf(event), event.clientX, false];
    isBrush = event.shiftKey || gestures.isBrushing();
  }

  function move(event: PointerEvent): void {
    const before = pointers.get(event.pointerId);
    if (before === undefined) return gestures.hover(event);
    const now = partOf(event);
    pointers.set(event.pointerId, now);
    if (pointers.size === 2) return pinch(event.pointerId, before, now);
    hasMoved ||= Math.abs(event.clientX - startX) > CLICK_PIXELS;
    if (isBrush && hasMoved) gestures.brush(start, now, false);
    else if (hasMoved) gestures.pan(before - now);
  }

  function pinch(id: number, before: number, now: number): void {
    const [other = 0] = [...pointers].filter(([one]) => one !== id).map(([, part]) => part);
    const [wide, wideBefore] = [Math.abs(now - other), Math.abs(before - other)];
    if (wide > 0.02 && wideBefore > 0.02) gestures.zoom(wideBefore / wide, (now + other) / 2);
  }

  function up(event: PointerEvent): void {
    if (!pointers.delete(event.pointerId) || pointers.size > 0) return;
    if (!hasMoved) gestures.click(partOf(event), event);
    else if (isBrush) gestures.brush(start, partOf(event), true);
  }

  function wheel(event: WheelEvent): void {
    if (event.ctrlKey && event.deltaY === 0) return;
    event.preventDefault();
    const pixels = event.deltaMode === 1 ? 30 : 1;
    const isSideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    const delta = (isSideways ? event.deltaX || event.deltaY : event.deltaY) * pixels;
    if (isSideways) gestures.pan(delta / Math.max(1, target.clientWidth));
    else gestures.zoom(Math.exp(Math.max(-240, Math.min(240, delta)) * 0.003), partOf(event));
  }

  const keys: Record<string, () => void> = {
    ArrowLeft: () => gestures.pan(-KEY_PAN),
    ArrowRight: () => gestures.pan(KEY_PAN),
    PageUp: () => gestures.pan(-1),
    PageDown: () => gestures.pan(1),
    "+": () => gestures.zoom(1 / KEY_ZOOM, 0.5),
    "=": () => gestures.zoom(1 / KEY_ZOOM, 0.5),
    "-": () => gestures.zoom(KEY_ZOOM, 0.5),
    Enter: () => gestures.enter(),
  };

  function key(event: KeyboardEvent): void {
    const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  const options = { signal };
  target.addEventListener("pointerdown", down, options);
  target.addEventListener("pointermove", move, options);
  target.addEventListener("pointerup", up, options);
  target.addEventListener("pointercancel", (event) => pointers.delete(event.pointerId), options);
  target.addEventListener("pointerleave", () => gestures.hover(null), options);
  target.addEventListener("wheel", wheel, { signal, passive: false });
  target.addEventListener("keydown", key, options);
}
