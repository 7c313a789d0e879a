import type { ExtensionFilter } from "../../api/extensions";

/** The filter lives in the address, so that it can be linked to and survives going back. */
export function readFilter(query: Readonly<Record<string, string>>): ExtensionFilter {
  const filter: ExtensionFilter = {};
  if (query.search) filter.search = query.search;
  if (query.category) filter.category = query.category;
  if (query.type === "install" || query.type === "run") filter.type = query.type;
  const page = Number(query.page);
  if (Number.isInteger(page) && page > 1) filter.page = page;
  return filter;
}

export function filterAddress(filter: ExtensionFilter): string {
  const search = new URLSearchParams();
  if (filter.search) search.set("search", filter.search);
  if (filter.category) search.set("category", filter.category);
  if (filter.type) search.set("type", filter.type);
  if (filter.page && filter.page > 1) search.set("page", String(filter.page));
  const text = search.toString();
  return `/extensions${text && `?${text}`}`;
}

export const isFiltered = ({ page: _, ...rest }: ExtensionFilter): boolean => Object.keys(rest).length > 0;
