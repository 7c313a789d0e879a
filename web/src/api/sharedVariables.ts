import { queryOptions, useMutation, useQuery } from "@tanstack/preact-query";
import { cache, inOrganization } from "./cache";
import { request, type Schemas } from "./client";

export type SharedVariables = Schemas["SharedVariables"];

/** The organization's own have no environment. */
const sharedVariablesQuery = (environment: string) =>
  queryOptions({
    queryKey: inOrganization("shared-variables", environment),
    queryFn: ({ signal }) => request("get", "/variables/shared", { query: { environment }, signal }),
  });

export const useSharedVariables = (environment: string) => useQuery(sharedVariablesQuery(environment));

/** What waits for the next deployment of applications may be more or less now. */
export function useUpdateSharedVariables() {
  return useMutation({
    mutationFn: (body: Schemas["UpdateSharedVariables"]) => request("put", "/variables/shared", { body }),
    onSettled: () => cache.invalidateQueries({ queryKey: inOrganization() }),
  });
}
