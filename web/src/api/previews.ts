import { useMutation, useQuery } from "@tanstack/preact-query";
import { cache, inOrganization } from "./cache";
import { request, type Schemas } from "./client";

export type Preview = Schemas["Preview"];
export type DeployPreview = Schemas["DeployPreview"];

/** Events are about the preview itself, which this list does not know before it is made. */
const LOOK_MS = 5_000;

const key = (applicationId: string) => inOrganization("previews", applicationId);

export function usePreviews(applicationId: string) {
  return useQuery({
    queryKey: key(applicationId),
    queryFn: ({ signal }) =>
      request("get", "/deploy/application/{application_id}/previews", {
        path: { application_id: applicationId },
        signal,
      }),
    refetchInterval: LOOK_MS,
  });
}

export const useDeployPreview = (applicationId: string) =>
  useMutation({
    mutationFn: (body: DeployPreview) =>
      request("post", "/deploy/application/{application_id}/previews", {
        path: { application_id: applicationId },
        body,
      }),
    onSettled: () => cache.invalidateQueries({ queryKey: key(applicationId) }),
  });

export const useEndPreview = (applicationId: string) =>
  useMutation({
    mutationFn: (id: string) => request("delete", "/deploy/previews/{preview_id}", { path: { preview_id: id } }),
    onSettled: () => cache.invalidateQueries({ queryKey: key(applicationId) }),
  });
