// Runs a regular expression over names where it can be ended.

interface Task {
  readonly names: string[];
  readonly text: string;
}

self.onmessage = ({ data }: MessageEvent<Task>) => {
  const expression = new RegExp(data.text, "i");
  self.postMessage(Uint8Array.from(data.names, (name) => (expression.test(name) ? 1 : 0)));
};
self.postMessage("ready");
