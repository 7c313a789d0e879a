import { useMutation, useQuery } from "@tanstack/preact-query";
import { refreshApplication } from "./applications";
import { cache, inOrganization } from "./cache";
import { address, currentOrganizationId, open, request, type Schemas } from "./client";

export type Volume = Schemas["Volume"];
export type NewVolume = Schemas["NewVolume"];
export type UpdateVolume = Schemas["UpdateVolume"];
export type Snapshot = Schemas["Snapshot"];

export function useVolumes(applicationId: string) {
  return useQuery({
    queryKey: inOrganization("volumes", applicationId),
    queryFn: ({ signal }) =>
      request("get", "/deploy/application/{application_id}/volumes", {
        path: { application_id: applicationId },
        signal,
      }),
  });
}

/** Those of all applications, and those that have none. */
export function useAllVolumes(applicationId: string) {
  return useQuery({
    // With the id of the application that asks, so that its events make this stale too.
    queryKey: inOrganization("all-volumes", applicationId),
    queryFn: ({ signal }) => request("get", "/deploy/volumes", { signal }),
  });
}

export function useSnapshots(applicationId: string, volumeName: string) {
  return useQuery({
    queryKey: inOrganization("snapshots", applicationId, volumeName),
    queryFn: ({ signal }) =>
      request("get", "/deploy/application/{application_id}/volumes/{volume_name}/snapshots", {
        path: { application_id: applicationId, volume_name: volumeName },
        signal,
      }),
  });
}

export function useAllSnapshots(applicationId: string) {
  return useQuery({
    queryKey: inOrganization("all-snapshots", applicationId),
    queryFn: ({ signal }) => request("get", "/deploy/snapshots", { signal }),
  });
}

function useVolumeChange<V, T>(applicationId: string, mutationFn: (variables: V) => Promise<T>) {
  return useMutation({
    mutationFn,
    onSettled: () => {
      for (const noun of ["volumes", "all-volumes", "snapshots", "all-snapshots", "deployments"]) {
        void cache.invalidateQueries({ queryKey: inOrganization(noun, applicationId) });
      }
      refreshApplication(applicationId);
    },
  });
}

export const useCreateVolume = (id: string) =>
  useVolumeChange(id, (body: NewVolume) =>
    request("post", "/deploy/application/{application_id}/volumes", { path: { application_id: id }, body }),
  );

export const useUpdateVolume = (id: string, name: string) =>
  useVolumeChange(id, (body: UpdateVolume) =>
    request("put", "/deploy/application/{application_id}/volumes/{volume_name}", {
      path: { application_id: id, volume_name: name },
      body,
    }),
  );

export const useDeleteVolume = (id: string) =>
  useVolumeChange(id, (name: string) =>
    request("delete", "/deploy/application/{application_id}/volumes/{volume_name}", {
      path: { application_id: id, volume_name: name },
    }),
  );

/** Also of one whose application is gone. */
export const useDiscardVolume = (id: string) =>
  useVolumeChange(id, (volumeId: string) =>
    request("delete", "/deploy/volumes/{volume_id}", { path: { volume_id: volumeId } }),
  );

export const useAttachVolume = (id: string, volumeId: string) =>
  useVolumeChange(id, (body: Omit<Schemas["AttachVolume"], "application_id">) =>
    request("post", "/deploy/volumes/{volume_id}/attach", {
      path: { volume_id: volumeId },
      body: { ...body, application_id: id },
    }),
  );

export const useCreateSnapshot = (id: string) =>
  useVolumeChange(id, (name: string) =>
    request("post", "/deploy/application/{application_id}/volumes/{volume_name}/snapshots", {
      path: { application_id: id, volume_name: name },
    }),
  );

export const useDeleteSnapshot = (id: string) =>
  useVolumeChange(id, (snapshotId: string) =>
    request("delete", "/deploy/snapshots/{snapshot_id}", { path: { snapshot_id: snapshotId } }),
  );

export const useRestore = (id: string, volumeName: string) =>
  useVolumeChange(id, (snapshotId: string) =>
    request("post", "/deploy/application/{application_id}/volumes/{volume_name}/restore", {
      path: { application_id: id, volume_name: volumeName },
      body: { snapshot_id: snapshotId },
    }),
  );

/**
 * Lets the browser itself download a snapshot, which may be larger than the memory. It cannot send headers, so the organization is in
 * the address. What the server refuses is found out before, by a request that is dropped once it is answered.
 */
export async function downloadSnapshot({ id, volume_name }: Snapshot): Promise<void> {
  const url = address(`/deploy/snapshots/${id}/download`, { organization_id: currentOrganizationId() });
  const answer = await open(url);
  await answer.body?.cancel();
  const link = document.createElement("a");
  link.href = url;
  link.download = `${volume_name}-${id}.tar`;
  link.click();
}
