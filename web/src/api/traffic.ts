import { keepPreviousData, useQuery } from "@tanstack/preact-query";
import { inOrganization } from "./cache";
import { request, type Schemas } from "./client";

export type Traffic = Schemas["Traffic"];
export type ApplicationTraffic = Schemas["ApplicationTraffic"];

/** The server asks the edge every ten seconds. */
const EVERY_MS = 10_000;

/** Of one application, or of all of the organization. Nothing is asked while the page is in the background. */
export function useTraffic(id: string | null, hours: number) {
  return useQuery({
    queryKey: inOrganization("traffic", id, hours),
    queryFn: ({ signal }) => request("get", "/deploy/traffic", { query: { ...(id && { id }), hours }, signal }),
    refetchInterval: EVERY_MS,
    staleTime: EVERY_MS,
    placeholderData: keepPreviousData,
  });
}

export const sum = (numbers: readonly number[]): number => numbers.reduce((all, number) => all + number, 0);
