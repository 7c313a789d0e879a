import type { StatusPage, StatusPageApplication, UpdateStatusPage } from "../../api/statusPage";

/** As many as a page can show. */
export const MOST = 100;

/** What is saved together. */
export interface Fields {
  enabled: boolean;
  title: string;
  domain: string;
  applications: readonly StatusPageApplication[];
}
export const FIELDS = ["enabled", "title", "domain", "applications"] as const satisfies readonly (keyof Fields)[];

export const fieldsOf = ({ enabled, title, domain, applications }: StatusPage): Fields => ({
  enabled,
  title,
  domain,
  applications,
});

export const bodyOf = ({ applications, domain, ...rest }: Partial<Fields>): UpdateStatusPage => ({
  ...rest,
  ...(domain !== undefined && { domain: domain.trim() }),
  ...(applications && { applications: applications.map((one) => ({ ...one, name: one.name.trim() })) }),
});

type All = readonly StatusPageApplication[];

export const withName = (all: All, id: string, name: string): All =>
  all.map((one) => (one.application_id === id ? { ...one, name } : one));

export const without = (all: All, id: string): All => all.filter(({ application_id }) => application_id !== id);

/** One place up or down; at an end it stays. */
export function moved(all: All, id: string, by: -1 | 1): All {
  const at = all.findIndex(({ application_id }) => application_id === id);
  const [one, other] = [all[at], all[at + by]];
  if (!one || !other) return all;
  return all.map((each) => (each === one ? other : each === other ? one : each));
}
