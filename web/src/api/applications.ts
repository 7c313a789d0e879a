import { keepPreviousData, queryOptions, useMutation, useQuery } from "@tanstack/preact-query";
import { cache, inOrganization } from "./cache";
import { request, type Schemas } from "./client";

export type Application = Schemas["Application"];
export type ApplicationState = Schemas["ApplicationState"];
export type UpdateApplication = Schemas["UpdateApplication"];
export type CreateDeployment = Schemas["CreateDeployment"];
export type BuildPlan = Schemas["BuildPlan"];
export type BuildPack = Schemas["BuildPack"];
export type Language = Schemas["Language"];

export interface ApplicationFilter {
  search?: string;
  label?: string[];
  environment?: string;
  state?: ApplicationState;
  page?: number;
}

export const PAGE_SIZE = 100;

export function useApplications(filter: ApplicationFilter) {
  return useQuery({
    queryKey: inOrganization("applications", filter),
    queryFn: ({ signal }) =>
      request("get", "/deploy/applications", {
        query: { ...filter, page_size: PAGE_SIZE, sort_by: "name", sort_direction: "asc" },
        signal,
      }),
    placeholderData: keepPreviousData,
  });
}

export const applicationQuery = (id: string) =>
  queryOptions({
    queryKey: inOrganization("application", id),
    queryFn: ({ signal }) => request("get", "/deploy/application", { query: { id }, signal }),
  });

export const useApplication = (id: string, enabled = true) => useQuery({ ...applicationQuery(id), enabled });

/** The answer of a change is what is shown from then on. */
function keep(application: Application): void {
  cache.setQueryData(applicationQuery(application.id).queryKey, application);
  cache.invalidateQueries({ queryKey: inOrganization("applications") });
}

/** The same key makes the server do it once, however often a request is sent. */
export function createApplication(body: CreateDeployment, idempotencyKey: string): Promise<Application> {
  return request("post", "/deploy/application", { body, headers: { "Idempotency-Key": idempotencyKey } });
}

export const previewBuild = (body: CreateDeployment): Promise<BuildPlan> =>
  request("post", "/deploy/application/preview", { body });

export function useUpdateApplication() {
  return useMutation({
    mutationFn: (body: UpdateApplication) => request("put", "/deploy/application", { body }),
    onSuccess: keep,
  });
}

export function useUpdateLabels() {
  return useMutation({
    mutationFn: ({ id, labels }: { id: string; labels: string[] }) =>
      request("put", "/deploy/application/labels", { query: { id }, body: { labels } }),
    onSettled: (_data, _error, { id }) => refreshApplication(id),
  });
}

export function refreshApplication(id: string): void {
  cache.invalidateQueries({ queryKey: inOrganization("application", id) });
  cache.invalidateQueries({ queryKey: inOrganization("applications") });
}

export type ApplicationAction = "stop" | "start" | "restart" | "redeploy";

export function useApplicationAction(id: string) {
  return useMutation({
    mutationFn: async (action: ApplicationAction): Promise<string | null> => {
      if (action === "stop") {
        await request("post", "/deploy/application/stop", { body: { id } });
        return null;
      }
      if (action === "start") return (await request("post", "/deploy/application/start", { body: { id } })).id;
      if (action === "restart") return (await request("post", "/deploy/application/restart", { body: { id } })).id;
      return (await request("post", "/deploy/application/redeploy", { body: { id } })).id;
    },
    onSettled: () => refreshApplication(id),
  });
}

export function useDeleteApplication() {
  return useMutation({
    mutationFn: (body: Schemas["DeleteApplication"]) => request("delete", "/deploy/application", { body }),
    onSuccess: () => cache.invalidateQueries({ queryKey: inOrganization("applications") }),
  });
}
