import type { Permission } from "../../api/account";
import type { EventName } from "../../api/notifications";

export const GROUPS = [
  "deployments",
  "applications",
  "schedules",
  "volumes",
  "certificates",
  "extensions",
  "machine",
  "people",
] as const;
export type Group = (typeof GROUPS)[number];

/** Where each event stands, and in this order: what needs attention is first. */
const GROUP_OF: Readonly<Record<EventName, Group>> = {
  "deployment.failed": "deployments",
  "deployment.succeeded": "deployments",
  "deployment.cancelled": "deployments",
  "deployment.queued": "deployments",
  "deployment.cloning": "deployments",
  "deployment.building": "deployments",
  "deployment.deploying": "deployments",
  "application.failed": "applications",
  "application.crashed": "applications",
  "application.unhealthy": "applications",
  "application.recovered": "applications",
  "application.down": "applications",
  "application.up": "applications",
  "application.running": "applications",
  "application.deploying": "applications",
  "application.stopped": "applications",
  "application.created": "applications",
  "application.updated": "applications",
  "application.deleted": "applications",
  "run.failed": "schedules",
  "run.skipped": "schedules",
  "run.succeeded": "schedules",
  "run.cancelled": "schedules",
  "run.queued": "schedules",
  "run.started": "schedules",
  "snapshot.failed": "volumes",
  "snapshot.succeeded": "volumes",
  "volume.created": "volumes",
  "volume.deleted": "volumes",
  "certificate.failed": "certificates",
  "certificate.recovered": "certificates",
  "execution.failed": "extensions",
  "execution.succeeded": "extensions",
  "execution.cancelled": "extensions",
  "execution.queued": "extensions",
  "disk.low": "machine",
  "disk.recovered": "machine",
  "engine.lost": "machine",
  "engine.recovered": "machine",
  "logs.stopped": "machine",
  "logs.recovered": "machine",
  "api_key.created": "people",
  "member.role_changed": "people",
  "member.added": "people",
  "member.removed": "people",
};

export const EVENTS = Object.keys(GROUP_OF) as EventName[];

export const eventsIn = (group: Group, among: readonly EventName[] = EVENTS): EventName[] =>
  EVENTS.filter((name) => GROUP_OF[name] === group && among.includes(name));

/** What the server tells unless something else was chosen. */
export const USUAL: readonly EventName[] = [
  "deployment.failed",
  "application.failed",
  "application.crashed",
  "application.unhealthy",
  "application.recovered",
  "application.down",
  "application.up",
  "run.failed",
  "snapshot.failed",
  "certificate.failed",
  "certificate.recovered",
  "execution.failed",
  "disk.low",
  "disk.recovered",
  "engine.lost",
  "engine.recovered",
  "logs.stopped",
  "logs.recovered",
  "api_key.created",
  "member.role_changed",
];

/** Who may hear of it, where not every member may. */
export function neededFor(name: EventName): Permission | null {
  if (GROUP_OF[name] === "machine") return "extension:host";
  return name === "api_key.created" ? "api_key:read" : null;
}

export const isUsual = (events: readonly EventName[]): boolean =>
  events.length === USUAL.length && USUAL.every((name) => events.includes(name));
