import { keepPreviousData, useInfiniteQuery, useMutation, useQuery } from "@tanstack/preact-query";
import { cache, inOrganization } from "./cache";
import { request, type Schemas } from "./client";

export type Connection = Schemas["Connection"];
export type CodeHost = Schemas["CodeHost"];
export type CreateConnection = Schemas["CreateConnection"];
export type UpdateConnection = Schemas["UpdateConnection"];
export type HostedRepository = Schemas["HostedRepository"];

/** The most that the server takes. */
const PAGE_SIZE = 50;

export function useConnections(enabled = true, everyMs: number | false = false) {
  return useQuery({
    queryKey: inOrganization("connections"),
    queryFn: ({ signal }) => request("get", "/connections", { signal }),
    enabled,
    refetchInterval: everyMs,
  });
}

const connectionKey = (id: string) => inOrganization("connection", id);

export function useConnection(id: string) {
  return useQuery({
    queryKey: connectionKey(id),
    queryFn: ({ signal }) => request("get", "/connections/{connection_id}", { path: { connection_id: id }, signal }),
  });
}

/** The answer of a change is what is shown from then on. */
function keep(connection: Connection): void {
  cache.setQueryData(connectionKey(connection.id), connection);
  void cache.invalidateQueries({ queryKey: inOrganization("connections") });
  // Another token may reach other repositories.
  cache.removeQueries({ queryKey: inOrganization("repositories", connection.id) });
}

export const useCreateConnection = () =>
  useMutation({
    mutationFn: (body: CreateConnection) => request("post", "/connections", { body }),
    onSuccess: keep,
  });

export const useUpdateConnection = (id: string) =>
  useMutation({
    mutationFn: (body: UpdateConnection) =>
      request("put", "/connections/{connection_id}", { path: { connection_id: id }, body }),
    onSuccess: keep,
  });

export const useDeleteConnection = (id: string) =>
  useMutation({
    mutationFn: () => request("delete", "/connections/{connection_id}", { path: { connection_id: id } }),
    onSuccess: () => {
      // The list that is opened next is not to show it for a moment.
      cache.setQueryData<Schemas["Connections"]>(
        inOrganization("connections"),
        (before) => before && { connections: before.connections.filter((connection) => connection.id !== id) },
      );
      return cache.invalidateQueries({ queryKey: inOrganization("connections") });
    },
  });

export const useCreateGithubApp = () =>
  useMutation({
    mutationFn: (body: Schemas["CreateGithubApp"]) => request("post", "/connections/github-apps", { body }),
  });

/** Page by page, since a code host may have thousands. */
export function useRepositories(connectionId: string, search: string) {
  return useInfiniteQuery({
    queryKey: inOrganization("repositories", connectionId, search),
    initialPageParam: 1,
    queryFn: ({ pageParam, signal }) =>
      request("get", "/connections/{connection_id}/repositories", {
        path: { connection_id: connectionId },
        query: { page: pageParam, page_size: PAGE_SIZE, ...(search ? { search } : {}) },
        signal,
      }),
    getNextPageParam: ({ next_page }) => next_page,
    enabled: connectionId !== "",
    placeholderData: keepPreviousData,
  });
}

export function useBranches(connectionId: string, repository: string) {
  return useInfiniteQuery({
    queryKey: inOrganization("branches", connectionId, repository),
    initialPageParam: 1,
    queryFn: ({ pageParam, signal }) =>
      request("get", "/connections/{connection_id}/branches", {
        path: { connection_id: connectionId },
        query: { repository, page: pageParam, page_size: PAGE_SIZE },
        signal,
      }),
    getNextPageParam: ({ next_page }) => next_page,
    enabled: connectionId !== "" && repository !== "",
  });
}
