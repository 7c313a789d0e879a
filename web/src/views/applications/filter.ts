import type { ApplicationFilter, ApplicationState } from "../../api/applications";

const STATES: readonly ApplicationState[] = ["running", "deploying", "stopped", "failed"];

export { STATES };

/** The filter lives in the address, so that it can be linked to and survives going back. */
export function readFilter(query: Readonly<Record<string, string>>): ApplicationFilter {
  const filter: ApplicationFilter = {};
  if (query.search) filter.search = query.search;
  if (query.label) filter.label = query.label.split(",").filter(Boolean);
  if (query.environment) filter.environment = query.environment;
  const state = STATES.find((known) => known === query.state);
  if (state) filter.state = state;
  const page = Number(query.page);
  if (Number.isInteger(page) && page > 1) filter.page = page;
  return filter;
}

export function filterAddress(filter: ApplicationFilter): string {
  const search = new URLSearchParams();
  if (filter.search) search.set("search", filter.search);
  if (filter.label?.length) search.set("label", filter.label.join(","));
  if (filter.environment) search.set("environment", filter.environment);
  if (filter.state) search.set("state", filter.state);
  if (filter.page && filter.page > 1) search.set("page", String(filter.page));
  const text = search.toString();
  return `/applications${text && `?${text}`}`;
}

export const isFiltered = ({ page: _, ...rest }: ApplicationFilter): boolean => Object.keys(rest).length > 0;
