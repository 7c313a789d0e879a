import { queryOptions, useMutation, useQuery } from "@tanstack/preact-query";
import type { Application } from "./applications";
import { cache, inOrganization } from "./cache";
import { request, type Schemas } from "./client";

export type Access = Schemas["Access"];
export type UpdateAccess = Partial<Schemas["UpdateAccess"]>;
/** Texts by name. A request replaces all of a field's. */
export type EntriesField = "users" | "headers" | "pages";

/** A preview has the settings of its application, so events about that one make them stale too. */
export const accessQuery = ({ id, preview_of }: Application) =>
  queryOptions({
    queryKey: inOrganization("access", id, preview_of),
    queryFn: ({ signal }) =>
      request("get", "/deploy/application/{application_id}/access", { path: { application_id: id }, signal }),
  });

export const useAccess = (application: Application) => useQuery(accessQuery(application));

/** What is stored now, whatever the stream of events has told so far. */
export const fetchAccess = (application: Application): Promise<Access> =>
  cache.fetchQuery({ ...accessQuery(application), staleTime: 0 });

const put = ({ id }: Application, body: UpdateAccess): Promise<Access> =>
  request("put", "/deploy/application/{application_id}/access", {
    path: { application_id: id },
    body,
  });

/** The answer of a change is what is shown from then on. */
function keep(application: Application, access: Access): void {
  cache.setQueryData(accessQuery(application).queryKey, access);
}

export const useUpdateAccess = (application: Application) =>
  useMutation({
    mutationFn: (body: UpdateAccess) => put(application, body),
    onSuccess: (access) => keep(application, access),
  });

export interface EntryChange {
  name: string;
  /** Null removes it. */
  value: string | null;
  /** What the user has seen there; absent where there was none. */
  seen?: string | undefined;
}

/**
 * Changes one entry and leaves the others as they are stored now. Answers false, and changes nothing, if the entry is not what
 * the user has seen: then it is shown as it is.
 */
export function useChangeEntry(application: Application, field: EntriesField) {
  return useMutation({
    mutationFn: async ({ name, value, seen }: EntryChange): Promise<boolean> => {
      const stored = (await fetchAccess(application))[field];
      const isSeen = (Object.hasOwn(stored, name) ? stored[name] : undefined) === seen;
      if (value !== null && !isSeen) return false;
      const others = Object.entries(stored).filter(([other]) => other !== name);
      const entries = Object.fromEntries(value === null ? others : [...others, [name, value]]);
      keep(application, await put(application, { [field]: entries }));
      return true;
    },
  });
}
