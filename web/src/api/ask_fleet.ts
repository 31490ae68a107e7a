// Typed questions about a fleet.

import type { RangeQuestion } from "./questions";
import type * as t from "./types";

export interface FleetQuestion {
  begin_us: number;
  end_us: number;
  kind?: string[];
}
export interface FleetMapQuestion extends FleetQuestion {
  label: string;
  columns: number;
}
export interface FleetEventsQuestion extends FleetQuestion {
  label: string;
  group: string;
}
export interface FleetFixedQuestion extends FleetQuestion {
  label: string;
  value: string;
}

export interface FleetAsk {
  fleet(signal?: AbortSignal): Promise<t.Fleet>;
  map(question: FleetMapQuestion, signal?: AbortSignal): Promise<t.FleetMap>;
  events(question: FleetEventsQuestion, signal?: AbortSignal): Promise<t.FleetEvents>;
  moment(question: RangeQuestion, signal?: AbortSignal): Promise<t.FleetMoment>;
  where(question: FleetQuestion, signal?: AbortSignal): Promise<t.FleetWhere>;
  next(question: FleetQuestion, signal?: AbortSignal): Promise<t.FleetNext>;
  culprit(question: FleetQuestion, signal?: AbortSignal): Promise<t.FleetCulprits>;
  drift(question: FleetQuestion, signal?: AbortSignal): Promise<t.FleetDrift>;
  jobs(question: FleetQuestion, signal?: AbortSignal): Promise<t.FleetJobs>;
  fixed(question: FleetFixedQuestion, signal?: AbortSignal): Promise<t.FleetFixed>;
}

type Get = <Answer>(path: string, question: object, signal?: AbortSignal) => Promise<Answer>;

export function serverFleet(get: Get): FleetAsk {
  return {
    fleet: (signal) => get("fleet", {}, signal),
    map: (question, signal) => get("fleet-map", question, signal),
    events: (question, signal) => get("fleet-events", question, signal),
    moment: (question, signal) => get("fleet-moment", question, signal),
    where: (question, signal) => get("fleet-where", question, signal),
    next: (question, signal) => get("fleet-next", question, signal),
    culprit: (question, signal) => get("fleet-culprit", question, signal),
    drift: (question, signal) => get("fleet-drift", question, signal),
    jobs: (question, signal) => get("fleet-jobs", question, signal),
    fixed: (question, signal) => get("fleet-fixed", question, signal),
  };
}
