import type { ExtensionFilter } from "../../api/extensions";
import { filterAddress, readPage } from "../../ui/filter";

export function readFilter(query: Readonly<Record<string, string>>): ExtensionFilter {
  const filter: ExtensionFilter = readPage(query);
  if (query.search) filter.search = query.search;
  if (query.category) filter.category = query.category;
  if (query.type === "install" || query.type === "run") filter.type = query.type;
  return filter;
}

export const extensionsAddress = (filter: ExtensionFilter): string => filterAddress("/extensions", filter);
