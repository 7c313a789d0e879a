import { keepPreviousData, useMutation, useQuery } from "@tanstack/preact-query";
import { cache, inOrganization } from "./cache";
import { request, type Schemas } from "./client";

export type CommandRun = Schemas["CommandRun"];
export type RunStatus = Schemas["RunStatus"];

const PAGE_SIZE = 25;
const WATCH_MS = 2_000;

export const isUnderWay = ({ status }: CommandRun): boolean => status === "queued" || status === "running";

/** Of an application, or of one of its schedules. */
export function useRuns(applicationId: string, page: number, scheduleId?: string) {
  const query = { page, page_size: PAGE_SIZE, ...(scheduleId ? { schedule_id: scheduleId } : {}) };
  return useQuery({
    queryKey: inOrganization("runs", applicationId, query),
    queryFn: ({ signal }) =>
      request("get", "/deploy/application/{application_id}/runs", {
        path: { application_id: applicationId },
        query,
        signal,
      }),
    placeholderData: keepPreviousData,
  });
}

export function useCommandRun(applicationId: string, id: string) {
  return useQuery({
    queryKey: inOrganization("run", applicationId, id),
    queryFn: ({ signal }) => request("get", "/deploy/runs/{run_id}", { path: { run_id: id }, signal }),
    // Events tell of its end; what it printed by then is counted here.
    refetchInterval: ({ state }) => (state.data && isUnderWay(state.data) ? WATCH_MS : false),
  });
}

function refreshRuns(applicationId: string): void {
  for (const noun of ["runs", "run", "schedules"]) {
    void cache.invalidateQueries({ queryKey: inOrganization(noun, applicationId) });
  }
}

export const useRunCommand = (applicationId: string) =>
  useMutation({
    mutationFn: (body: Schemas["RunCommand"]) =>
      request("post", "/deploy/application/{application_id}/runs", { path: { application_id: applicationId }, body }),
    onSettled: () => refreshRuns(applicationId),
  });

/** As if the time of a schedule had come. */
export const useRunSchedule = (applicationId: string) =>
  useMutation({
    mutationFn: (scheduleId: string) =>
      request("post", "/deploy/schedules/{schedule_id}/run", { path: { schedule_id: scheduleId } }),
    onSettled: () => refreshRuns(applicationId),
  });

export const useCancelRun = ({ id, application_id }: CommandRun) =>
  useMutation({
    mutationFn: () => request("post", "/deploy/runs/{run_id}/cancel", { path: { run_id: id } }),
    onSettled: () => refreshRuns(application_id),
  });
