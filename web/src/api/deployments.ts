import { keepPreviousData, useMutation, useQuery } from "@tanstack/preact-query";
import { refreshApplication } from "./applications";
import { cache, inOrganization } from "./cache";
import { linked, request, type Schemas } from "./client";

export type Deployment = Schemas["ApplicationDeployment"];
export type DeploymentState = Schemas["DeploymentState"];
export type ReleaseChange = Schemas["ReleaseChange"];
export type LogLine = Schemas["ApplicationLog"];

const PAGE_SIZE = 25;
const STEPS_MS = 2_000;

export function useDeployments(applicationId: string, page: number) {
  return useQuery({
    queryKey: inOrganization("deployments", applicationId, page),
    queryFn: ({ signal }) =>
      request("get", "/deploy/application/deployments", {
        query: { id: applicationId, page, limit: PAGE_SIZE },
        signal,
      }),
    placeholderData: keepPreviousData,
  });
}

export function useDeployment(id: string) {
  return useQuery({
    queryKey: inOrganization("deployment", id),
    queryFn: ({ signal }) =>
      request("get", "/deploy/application/deployments/{deployment_id}", { path: { deployment_id: id }, signal }),
  });
}

/** What the release of one deployment has that another's has not. Releases do not change. */
export function useComparison(applicationId: string, from: string, to: string) {
  return useQuery({
    queryKey: inOrganization("comparison", from, to),
    queryFn: ({ signal }) =>
      request("get", "/deploy/application/{application_id}/compare", {
        path: { application_id: applicationId },
        query: { from, to },
        signal,
      }),
  });
}

/** What Windlass itself has written about a deployment: from these lines come the times of its steps. */
export function useDeploymentNotes(id: string, underWay: boolean) {
  return useQuery({
    // Not every step is an event.
    refetchInterval: underWay && STEPS_MS,
    queryKey: inOrganization("deployment-notes", id),
    queryFn: ({ signal }) =>
      request("get", "/deploy/application/deployments/{deployment_id}/logs", {
        path: { deployment_id: id },
        query: { after: "0", page_size: 1000, stream: ["windlass"], relations: "none" },
        signal,
      }),
  });
}

export const stateOf = (deployment: Deployment): DeploymentState => linked(deployment.status)?.status ?? "queued";

const FINAL: readonly DeploymentState[] = ["deployed", "failed", "cancelled"];
export const isUnderWay = (deployment: Deployment): boolean => !FINAL.includes(stateOf(deployment));

/** The deployment that visitors are served by: the newest one that has succeeded. */
export function liveOf(deployments: readonly Deployment[]): Deployment | undefined {
  return deployments.find((deployment) => stateOf(deployment) === "deployed");
}

function useDeploymentMutation<T, V>(applicationId: string, mutationFn: (variables: V) => Promise<T>) {
  return useMutation({
    mutationFn,
    onSettled: () => {
      refreshApplication(applicationId);
      cache.invalidateQueries({ queryKey: inOrganization("deployments", applicationId) });
      cache.invalidateQueries({ queryKey: inOrganization("deployment") });
    },
  });
}

export const useRollBack = (applicationId: string) =>
  useDeploymentMutation(applicationId, (body: Schemas["Rollback"]) =>
    request("post", "/deploy/application/rollback", { body }),
  );

export const useCancel = (applicationId: string) =>
  useDeploymentMutation(applicationId, (id: string) =>
    request("post", "/deploy/application/cancel-deployment", { body: { id } }),
  );
