// How long a piece of work keeps the page, until its picture is on the screen.

export interface Times {
  readonly draw: number;
  readonly zoom: number;
}

export async function measure(work: () => void, finish: () => void = () => {}): Promise<number> {
  await painted();
  const begin = performance.now();
  work();
  await painted();
  finish();
  return performance.now() - begin;
}

/** The next frame has been handed to the compositor. */
function painted(): Promise<void> {
  return new Promise((done) =>
    requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => done();
      channel.port2.postMessage(null);
    }),
  );
}

/** Canvases draw later than they are told to; reading a pixel waits for it. */
export function flushed(place: HTMLElement): void {
  for (const canvas of place.querySelectorAll("canvas")) canvas.getContext("2d")?.getImageData(0, 0, 1, 1);
}

export function freshPlace(): HTMLElement {
  const place = document.createElement("div");
  place.style.width = "1600px";
  place.style.height = "800px";
  document.body.replaceChildren(place);
  return place;
}
