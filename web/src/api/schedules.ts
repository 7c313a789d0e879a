import { useMutation, useQuery } from "@tanstack/preact-query";
import { cache, inOrganization } from "./cache";
import { request, type Schemas } from "./client";

export type Schedule = Schemas["Schedule"];
export type CreateSchedule = Schemas["CreateSchedule"];
export type UpdateSchedule = Schemas["UpdateSchedule"];
export type Overlap = Schemas["Overlap"];

export function useSchedules(applicationId: string) {
  return useQuery({
    queryKey: inOrganization("schedules", applicationId),
    queryFn: ({ signal }) =>
      request("get", "/deploy/application/{application_id}/schedules", {
        path: { application_id: applicationId },
        signal,
      }),
  });
}

function useScheduleChange<V, T>(applicationId: string, mutationFn: (variables: V) => Promise<T>) {
  return useMutation({
    mutationFn,
    onSettled: () => void cache.invalidateQueries({ queryKey: inOrganization("schedules", applicationId) }),
  });
}

export const useCreateSchedule = (applicationId: string) =>
  useScheduleChange(applicationId, (body: CreateSchedule) =>
    request("post", "/deploy/application/{application_id}/schedules", {
      path: { application_id: applicationId },
      body,
    }),
  );

export const useUpdateSchedule = (applicationId: string, id: string) =>
  useScheduleChange(applicationId, (body: UpdateSchedule) =>
    request("put", "/deploy/schedules/{schedule_id}", { path: { schedule_id: id }, body }),
  );

export const useDeleteSchedule = (applicationId: string) =>
  useScheduleChange(applicationId, (id: string) =>
    request("delete", "/deploy/schedules/{schedule_id}", { path: { schedule_id: id } }),
  );
