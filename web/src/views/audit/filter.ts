import type { AuditAction, AuditQuery, AuditScope } from "../../api/audit";
import { filterAddress, isFiltered as isAnyChosen, readPage } from "../../ui/filter";

/** As users choose it: `from` and `to` are days, and both belong to it. */
export interface AuditFilter {
  search?: string;
  actor?: string;
  action?: AuditAction;
  resource?: string;
  from?: string;
  to?: string;
  scope?: AuditScope;
  page?: number;
}

export const ACTIONS: readonly AuditAction[] = ["create", "update", "delete", "access"];

/** The kinds of things that the log of an organization, and that of this server, is about. */
export const RESOURCES: Readonly<Record<AuditScope, readonly string[]>> = {
  organization: [
    "application",
    "deployment",
    "volume",
    "snapshot",
    "run",
    "schedule",
    "upload",
    "domain",
    "connection",
    "registry_credential",
    "delivery",
    "extension",
    "execution",
    "installation",
    "member",
    "invitation",
    "api_key",
    "webhook",
    "smtp",
    "notice",
    "organization",
    "denial",
  ],
  instance: ["user", "session", "settings", "organization", "master_key", "audit_chain", "instance", "denial"],
};

const TEXTS = ["search", "actor", "resource"] as const;
const DAYS = ["from", "to"] as const;

const isDay = (text: string): boolean => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));

export function readFilter(query: Readonly<Record<string, string>>): AuditFilter {
  const filter: AuditFilter = readPage(query);
  for (const name of TEXTS) if (query[name]) filter[name] = query[name];
  for (const name of DAYS) if (query[name] && isDay(query[name])) filter[name] = query[name];
  const action = ACTIONS.find((known) => known === query.action);
  if (action) filter.action = action;
  if (query.scope === "instance") filter.scope = "instance";
  return filter;
}

export function auditAddress({ scope, ...rest }: AuditFilter): string {
  return filterAddress("/audit", scope === "instance" ? { ...rest, scope } : rest);
}

/** Whose log it is decides which entries there are, not which of them are shown. */
export const isFiltered = ({ scope: _, ...rest }: AuditFilter): boolean => isAnyChosen(rest);

/** Days are those of the user's clock; the API takes times, and what comes before `to`. */
export function queryOf({ resource, from, to, ...rest }: AuditFilter): AuditQuery {
  const query: AuditQuery = rest;
  if (resource) query.resource_type = resource;
  if (from) query.from = startOf(from, 0);
  if (to) query.to = startOf(to, 1);
  return query;
}

function startOf(day: string, daysLater: number): string {
  const [year = 0, month = 1, date = 1] = day.split("-").map(Number);
  return new Date(year, month - 1, date + daysLater).toISOString();
}
