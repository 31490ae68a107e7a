// What can be asked; the names are those of the API's query parameters.

export interface RangeQuestion {
  host: string;
  begin_us: number;
  end_us: number;
}
export interface ColumnsQuestion extends RangeQuestion {
  columns: number;
}
export interface EventsQuestion extends RangeQuestion {
  kind?: string[];
}
export interface FilterQuestion extends RangeQuestion {
  cpu?: number[];
  process?: string[];
  thread?: string[];
  event?: string[];
  idle?: boolean;
  search?: string;
  regexp?: boolean;
  only_matching?: boolean;
}
export interface ScopeQuestion extends FilterQuestion {
  rows: number;
}
export interface FlameQuestion extends FilterQuestion {
  by?: string;
  inverted?: boolean;
  against?: string;
}
export interface ExportQuestion extends FlameQuestion {
  format: string;
}
export interface LiveQuestion {
  host: string;
  since_us: number;
}

/** The query string; empty lists, empty texts and false are what the server takes anyway. */
export function queryOf(question: object): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(question)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== "" && one !== false) query.append(name, String(one));
    }
  }
  return query.toString();
}
