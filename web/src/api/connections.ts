import { keepPreviousData, useQuery } from "@tanstack/preact-query";
import { inOrganization } from "./cache";
import { request, type Schemas } from "./client";

export type Connection = Schemas["Connection"];
export type HostedRepository = Schemas["HostedRepository"];

export function useConnections(enabled: boolean) {
  return useQuery({
    queryKey: inOrganization("connections"),
    queryFn: ({ signal }) => request("get", "/connections", { signal }),
    enabled,
  });
}

export function useRepositories(connectionId: string, search: string) {
  return useQuery({
    queryKey: inOrganization("repositories", connectionId, search),
    queryFn: ({ signal }) =>
      request("get", "/connections/{connection_id}/repositories", {
        path: { connection_id: connectionId },
        query: search ? { search } : {},
        signal,
      }),
    enabled: connectionId !== "",
    placeholderData: keepPreviousData,
  });
}

export function useBranches(connectionId: string, repository: string) {
  return useQuery({
    queryKey: inOrganization("branches", connectionId, repository),
    queryFn: ({ signal }) =>
      request("get", "/connections/{connection_id}/branches", {
        path: { connection_id: connectionId },
        query: { repository, page_size: 100 },
        signal,
      }),
    enabled: connectionId !== "" && repository !== "",
  });
}
