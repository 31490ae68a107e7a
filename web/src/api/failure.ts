// What can go wrong with a question, as the states of the page tell it.

export const NOT_IN_THIS_FILE = "not-in-this-file"; // asking again does not help

export class Failure extends Error {
  constructor(
    readonly status: number, // 0: the server could not be reached
    readonly slug: string,
    readonly what: string,
    readonly hint: string,
    readonly retryAfterSeconds: number = 0,
  ) {
    super(what);
    this.name = "Failure";
  }
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

export function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error;
  const text = error instanceof Error ? error.message : String(error);
  return new Failure(500, "page", "The page met an error of its own.", text);
}

/** What and hint on one line: "no such host; see api/hosts". */
export function inOneLine(error: unknown): string {
  const { what, hint } = failureOf(error);
  return hint ? `${what.replace(/\.$/, "")}; ${hint}` : what;
}

export function lostServer(): Failure {
  return new Failure(
    0,
    "no-server",
    "The server does not answer.",
    "Is `necroscope serve` still running? The page goes on when it is back.",
  );
}

interface Told {
  error?: { slug?: unknown; what?: unknown; hint?: unknown };
}

/** The failure that an answer tells of; proxies in between answer without our JSON. */
export async function failureIn(response: Response): Promise<Failure> {
  const told = await response.json().then(
    (body: unknown) => (body as Told | null)?.error ?? {},
    () => ({}) as NonNullable<Told["error"]>,
  );
  const text = (value: unknown, instead: string): string => (typeof value === "string" ? value : instead);
  return new Failure(
    response.status,
    text(told.slug, `http-${response.status}`),
    text(told.what, `The server answered ${response.status} ${response.statusText}.`),
    text(told.hint, ""),
    Math.min(60, Number(response.headers.get("Retry-After")) || 0),
  );
}
