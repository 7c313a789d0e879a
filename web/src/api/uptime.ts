import { keepPreviousData, useMutation, useQuery } from "@tanstack/preact-query";
import { cache, inOrganization } from "./cache";
import { request, type Schemas } from "./client";

export type Uptime = Schemas["Uptime"];
export type UptimeState = Schemas["UptimeState"];
export type UptimeCheck = Schemas["UptimeCheck"];
export type CheckResult = Schemas["CheckResult"];
export type Outage = Schemas["Outage"];
export type UpdateUptime = Schemas["UpdateUptime"];

export const CHECKS_OF_A_PAGE = 60;
const OUTAGES_OF_A_PAGE = 25;
/** A check that changes nothing is no event. */
const LOOK_MS = 5_000;

const uptimeKey = (applicationId: string) => inOrganization("uptime", applicationId);
const checksKey = (applicationId: string) => inOrganization("uptime-checks", applicationId);
const outagesKey = (applicationId: string) => inOrganization("outages", applicationId);

export const useUptime = (applicationId: string) =>
  useQuery({
    queryKey: uptimeKey(applicationId),
    queryFn: ({ signal }) =>
      request("get", "/deploy/application/{application_id}/uptime", {
        path: { application_id: applicationId },
        signal,
      }),
    refetchInterval: ({ state }) => (state.data?.enabled ? LOOK_MS : false),
  });

/** Of a list, newest first. */
export interface Part {
  /** There is nothing new in it before there is a newer check. */
  lastCheckAt: string | null;
  /** Only what is older than this one. */
  before: string | null;
}

const pageOf = ({ before }: Part, limit: number) => ({ limit, ...(before ? { before } : {}) });

export const useUptimeChecks = (applicationId: string, part: Part) =>
  useQuery({
    queryKey: [...checksKey(applicationId), part],
    queryFn: ({ signal }) =>
      request("get", "/deploy/application/{application_id}/uptime/checks", {
        path: { application_id: applicationId },
        query: pageOf(part, CHECKS_OF_A_PAGE),
        signal,
      }),
    placeholderData: keepPreviousData,
  });

export const useOutages = (applicationId: string, part: Part) =>
  useQuery({
    queryKey: [...outagesKey(applicationId), part],
    queryFn: ({ signal }) =>
      request("get", "/deploy/application/{application_id}/uptime/outages", {
        path: { application_id: applicationId },
        query: pageOf(part, OUTAGES_OF_A_PAGE),
        signal,
      }),
    placeholderData: keepPreviousData,
  });

function refreshLists(applicationId: string): void {
  for (const key of [checksKey, outagesKey]) void cache.invalidateQueries({ queryKey: key(applicationId) });
}

/** The answer of a change is what is shown from then on. */
export const useUpdateUptime = (applicationId: string) =>
  useMutation({
    mutationFn: (body: UpdateUptime) =>
      request("put", "/deploy/application/{application_id}/uptime", { path: { application_id: applicationId }, body }),
    onSuccess: (uptime) => {
      cache.setQueryData(uptimeKey(applicationId), uptime);
      refreshLists(applicationId);
    },
  });

/** With all that it has come to. */
export const useDeleteUptime = (applicationId: string) =>
  useMutation({
    mutationFn: () =>
      request("delete", "/deploy/application/{application_id}/uptime", { path: { application_id: applicationId } }),
    onSuccess: () => {
      for (const key of [checksKey, outagesKey]) cache.removeQueries({ queryKey: key(applicationId) });
    },
    onSettled: () => void cache.invalidateQueries({ queryKey: uptimeKey(applicationId) }),
  });
