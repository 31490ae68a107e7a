// Everything that a link must reproduce. It stands behind the # of the URL: it never reaches a server or a
// log, and works in a file opened from disk.

export const VIEWS = ["overview", "moment", "diagnosis", "live", "fleet"] as const;
export const QUANTITIES = ["busy", "system", "softirq", "user", "steal", "wait"] as const;
export const ORDERS = ["number", "worst"] as const;
export const SPLITS = ["comm", "process", "thread", "core", "whole"] as const;
export const HEATS = ["rate", "hosts"] as const;
export const PARTS = ["", "culprit", "drift", "jobs", "fixed"] as const;
const ROWS = [10, 20, 25, 50, 100];
const LONGEST_SEARCH = 200;

export type ViewName = (typeof VIEWS)[number];
export type Quantity = (typeof QUANTITIES)[number];
export type CoreOrder = (typeof ORDERS)[number];
export type Split = (typeof SPLITS)[number];
export type Heat = (typeof HEATS)[number];
export type Part = (typeof PARTS)[number];
export type Span = [number, number];

export interface Address {
  view: ViewName;
  host: string;
  begin: number; // microseconds UTC; 0: the default
  end: number;
  quantity: Quantity;
  order: CoreOrder;
  a: Span | null;
  b: "quiet" | Span | null;
  cpus: number[];
  processes: string[];
  threads: string[];
  idle: boolean;
  search: string;
  regexp: boolean;
  onlyMatching: boolean;
  by: Split;
  inverted: boolean;
  icicle: boolean;
  zoom: string;
  mark: string; // what is highlighted in the flame graph
  event: string;
  rows: number;
  kinds: string[]; // of events of the fleet; none: the default
  label: string; // by which hosts of the fleet are grouped
  group: string; // the value of it that is chosen
  heat: Heat;
  part: Part; // which question about the fleet is open
  change: string; // what was rolled out: label=value
}

export const DEFAULTS: Address = {
  view: "overview",
  host: "",
  begin: 0,
  end: 0,
  quantity: "busy",
  order: "number",
  a: null,
  b: null,
  cpus: [],
  processes: [],
  threads: [],
  idle: false,
  search: "",
  regexp: false,
  onlyMatching: false,
  by: "comm",
  inverted: false,
  icicle: false,
  zoom: "",
  mark: "",
  event: "",
  rows: 50,
  kinds: [],
  label: "",
  group: "",
  heat: "rate",
  part: "",
  change: "",
};

function oneOf<T>(all: readonly T[], value: unknown, instead: T): T {
  return all.includes(value as T) ? (value as T) : instead;
}

function time(text: string | null): number {
  const number = Number(text);
  return Number.isSafeInteger(number) && number > 0 ? number : 0;
}

function span(text: string | null): Span | null {
  const [begin, end] = (text ?? "").split("..").map(time);
  return begin && end && begin < end ? [begin, end] : null;
}

function cores(texts: string[]): number[] {
  return texts.filter((text) => /^\d{1,5}$/.test(text)).map(Number);
}

/** What does not make sense in a link is left at its default. Without a host, `first` is the first view. */
export function parseAddress(hash: string, first: ViewName = DEFAULTS.view): Address {
  const [view = "", query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const said = new URLSearchParams(query);
  const [begin, end] = [time(said.get("begin")), time(said.get("end"))];
  const isRange = begin < end;
  return {
    view: oneOf(VIEWS, view, said.get("host") ? DEFAULTS.view : first),
    host: said.get("host") ?? "",
    begin: isRange ? begin : 0,
    end: isRange ? end : 0,
    quantity: oneOf(QUANTITIES, said.get("quantity"), DEFAULTS.quantity),
    order: oneOf(ORDERS, said.get("order"), DEFAULTS.order),
    a: span(said.get("a")),
    b: said.get("b") === "quiet" ? "quiet" : span(said.get("b")),
    cpus: cores(said.getAll("cpu")),
    processes: said.getAll("process"),
    threads: said.getAll("thread"),
    idle: said.has("idle"),
    search: (said.get("search") ?? "").slice(0, LONGEST_SEARCH),
    regexp: said.has("regexp"),
    onlyMatching: said.has("only"),
    by: oneOf(SPLITS, said.get("by"), DEFAULTS.by),
    inverted: said.has("inverted"),
    icicle: said.has("icicle"),
    zoom: said.get("zoom") ?? "",
    mark: said.get("mark") ?? "",
    event: said.get("event") ?? "",
    rows: oneOf(ROWS, Number(said.get("rows")), DEFAULTS.rows),
    kinds: said.getAll("kind"),
    label: said.get("label") ?? "",
    group: said.get("group") ?? "",
    heat: oneOf(HEATS, said.get("heat"), DEFAULTS.heat),
    part: oneOf(PARTS, said.get("part"), DEFAULTS.part),
    change: said.get("change") ?? "",
  };
}

function written(address: Address): [string, string | number | boolean | null][] {
  const range = (value: Address["b"]): string => (Array.isArray(value) ? value.join("..") : (value ?? ""));
  return [
    ["host", address.host],
    ["begin", address.begin],
    ["end", address.end],
    ["quantity", address.quantity === DEFAULTS.quantity ? "" : address.quantity],
    ["order", address.order === DEFAULTS.order ? "" : address.order],
    ["a", range(address.a)],
    ["b", range(address.b)],
    ...address.cpus.map((cpu): [string, string] => ["cpu", String(cpu)]),
    ...address.processes.map((name): [string, string] => ["process", name]),
    ...address.threads.map((name): [string, string] => ["thread", name]),
    ["idle", address.idle],
    ["search", address.search],
    ["regexp", address.regexp],
    ["only", address.onlyMatching],
    ["by", address.by === DEFAULTS.by ? "" : address.by],
    ["inverted", address.inverted],
    ["icicle", address.icicle],
    ["zoom", address.zoom],
    ["mark", address.mark],
    ["event", address.event],
    ["rows", address.rows === DEFAULTS.rows ? "" : address.rows],
    ...address.kinds.map((kind): [string, string] => ["kind", kind]),
    ["label", address.label],
    ["group", address.group],
    ["heat", address.heat === DEFAULTS.heat ? "" : address.heat],
    ["part", address.part],
    ["change", address.change],
  ];
}

/** The shortest link that parses to the same address. */
export function hashOf(address: Address): string {
  const query = new URLSearchParams();
  for (const [name, value] of written(address)) {
    if (value) query.append(name, value === true ? "1" : String(value));
  }
  const text = query.toString();
  return `#${address.view}${text && "?"}${text}`;
}

/** What the other views keep of an address: where and when, not what was chosen there. */
export function inView(address: Address, view: ViewName): Address {
  const { host, quantity, order, kinds, label, heat } = address;
  const isSameTime = (view === "fleet") === (address.view === "fleet"); // days of many, or minutes of one
  const [begin, end] = isSameTime ? [address.begin, address.end] : [0, 0];
  return { ...DEFAULTS, view, host, begin, end, quantity, order, kinds, label, heat };
}
