import { keepPreviousData, useMutation, useQuery } from "@tanstack/preact-query";
import { cache, inOrganization } from "./cache";
import { request, type Schemas } from "./client";
import { refreshExecutions } from "./executions";

export type Installation = Schemas["Installation"];
export type InstallationState = Schemas["InstallationState"];
export type InstallationOffer = Schemas["InstallationOffer"];
export type InstallationLog = Schemas["InstallationLog"];

const BUSY: readonly InstallationState[] = ["installing", "updating", "uninstalling"];
const BUSY_MS = 3_000;
const PAGE_SIZE = 25;
/** The most that one request gives. */
export const ALL = 100;

export const isBusy = ({ state }: Installation): boolean => BUSY.includes(state);

export function useInstallations(page = 1, pageSize = PAGE_SIZE) {
  return useQuery({
    queryKey: inOrganization("installations", page, pageSize),
    queryFn: ({ signal }) =>
      request("get", "/extensions/installations", { query: { page, page_size: pageSize }, signal }),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => (state.data?.installations.some(isBusy) ? BUSY_MS : false),
  });
}

export function useInstallation(id: string) {
  return useQuery({
    queryKey: inOrganization("installation", id),
    queryFn: ({ signal }) =>
      request("get", "/extensions/installations/{installation_id}", { path: { installation_id: id }, signal }),
    refetchInterval: ({ state }) => (state.data && isBusy(state.data) ? BUSY_MS : false),
  });
}

/** What an update to the text of this hash would bring. */
export const useUpdateOffer = (id: string, contentHash: string) =>
  useQuery({
    queryKey: inOrganization("installation", id, "offer", contentHash),
    queryFn: ({ signal }) =>
      request("get", "/extensions/installations/{installation_id}/update", { path: { installation_id: id }, signal }),
  });

export const useUpdateInstallation = (id: string) =>
  useMutation({
    mutationFn: (body: Schemas["UpdateInstallation"]) =>
      request("post", "/extensions/installations/{installation_id}/update", { path: { installation_id: id }, body }),
    onSettled: () => {
      refreshExecutions();
      // One that is refused because of a newer text is looked at again.
      cache.invalidateQueries({ queryKey: inOrganization("extension") });
    },
  });

export const useRollBackInstallation = (id: string) =>
  useMutation({
    mutationFn: () =>
      request("post", "/extensions/installations/{installation_id}/rollback", { path: { installation_id: id } }),
    onSettled: refreshExecutions,
  });

export const useUninstall = (id: string) =>
  useMutation({
    mutationFn: (body: Schemas["Uninstall"]) =>
      request("delete", "/extensions/installations/{installation_id}", { path: { installation_id: id }, body }),
    onSettled: refreshExecutions,
  });

/** The lines after a number, oldest first. */
export const installationLines = (id: string, after: number, limit: number, signal: AbortSignal) =>
  request("get", "/extensions/installations/{installation_id}/logs", {
    path: { installation_id: id },
    query: { after: String(after), limit },
    signal,
  });

/** Volumes that an uninstalled installation has left behind: a new one of the same name can go on with them. */
export const useVolumesLeftBehind = (enabled: boolean) =>
  useQuery({
    queryKey: inOrganization("volumes"),
    queryFn: ({ signal }) => request("get", "/deploy/volumes", { signal }),
    enabled,
    select: ({ volumes }) =>
      volumes.filter(
        (volume) =>
          volume.origin === "extension" && !volume.application_id && !volume.installation_id && !volume.deleted_at,
      ),
  });
