import { queryText } from "../api/client";

interface Paged {
  page?: number;
}

/** Filters live in the address, so that they can be linked to and survive going back. */
export function filterAddress<F extends Paged>(path: string, { page, ...rest }: F): string {
  return path + queryText({ ...rest, page: page && page > 1 ? page : undefined });
}

export function readPage(query: Readonly<Record<string, string>>): Paged {
  const page = Number(query.page);
  return Number.isInteger(page) && page > 1 ? { page } : {};
}

export function isFiltered<F extends Paged>({ page: _, ...rest }: F): boolean {
  return Object.keys(rest).length > 0;
}

export type FilterChange<F> = { [K in keyof F]?: F[K] | undefined };

/** A change leads back to the first page. What is empty is left out. */
export function changeFilter<F extends Paged>(filter: F, part: FilterChange<F>): F {
  const { page: _, ...kept } = { ...filter, ...part };
  const chosen = Object.entries<unknown>(kept).filter(([, value]) => (Array.isArray(value) ? value.length > 0 : value));
  return Object.fromEntries(chosen) as Paged as F;
}
