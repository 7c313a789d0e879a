import { useMutation, useQuery } from "@tanstack/preact-query";
import { cache, inOrganization } from "./cache";
import { request, type Schemas } from "./client";

export type Domain = Schemas["Domain"];

export const KEY = "domains";
/** An order takes seconds, and no event tells of its end. */
const WHILE_ORDERING_MS = 3_000;

export function useDomains() {
  return useQuery({
    queryKey: inOrganization(KEY),
    queryFn: ({ signal }) => request("get", "/domains", { signal }),
    refetchInterval: ({ state }) =>
      state.data?.domains.some(({ https }) => https === "ordering") ? WHILE_ORDERING_MS : false,
  });
}

export const useOrderAgain = () =>
  useMutation({
    mutationFn: (domain: string) => request("post", "/domains/{domain}/retry", { path: { domain } }),
    onSuccess: () => cache.invalidateQueries({ queryKey: inOrganization(KEY) }),
  });
