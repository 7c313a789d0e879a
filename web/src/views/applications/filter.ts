import type { ApplicationFilter, ApplicationState } from "../../api/applications";
import { filterAddress, readPage } from "../../ui/filter";

export const STATES: readonly ApplicationState[] = ["running", "deploying", "stopped", "failed"];

export function readFilter(query: Readonly<Record<string, string>>): ApplicationFilter {
  const filter: ApplicationFilter = readPage(query);
  if (query.search) filter.search = query.search;
  if (query.label) filter.label = query.label.split(",").filter(Boolean);
  if (query.environment) filter.environment = query.environment;
  const state = STATES.find((known) => known === query.state);
  if (state) filter.state = state;
  return filter;
}

export const applicationsAddress = (filter: ApplicationFilter): string => filterAddress("/applications", filter);
