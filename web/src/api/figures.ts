import { keepPreviousData, useQuery } from "@tanstack/preact-query";
import { inOrganization } from "./cache";
import { request, type Schemas } from "./client";

export type Figures = Schemas["Figures"];
export type FigureInstance = Schemas["FigureInstance"];
export type HostFigures = Schemas["HostFigures"];

/** The server measures every ten seconds; a longer time changes more slowly. */
const EVERY_MS = 10_000;
const RARELY_MS = 60_000;
const HOUR_MS = 3_600_000;

/** Of the last hours, of all instances or of one. Nothing is asked while the page is in the background. */
export function useFigures(application_id: string, hours: number, instance_id: string) {
  const every = hours === 1 ? EVERY_MS : RARELY_MS;
  return useQuery({
    queryKey: inOrganization("figures", application_id, hours, instance_id),
    queryFn: ({ signal }) => {
      const from = new Date(Date.now() - hours * HOUR_MS).toISOString();
      const query = { from, ...(instance_id && { instance_id }) };
      return request("get", "/deploy/application/{application_id}/figures", {
        path: { application_id },
        query,
        signal,
      });
    },
    refetchInterval: every,
    staleTime: every,
    placeholderData: keepPreviousData,
  });
}

export const useHostFigures = () =>
  useQuery({
    queryKey: ["instance-figures"],
    queryFn: ({ signal }) => request("get", "/instance/figures", { signal }),
    refetchInterval: EVERY_MS,
  });
