import { useQuery } from "@tanstack/preact-query";
import { inOrganization } from "./cache";
import { request, type Schemas } from "./client";

export type DeployPlan = Schemas["DeployPlan"];

/** What the next deploy would change. The repository is asked for it each time. */
export function useDeployPlan(applicationId: string) {
  return useQuery({
    queryKey: inOrganization("deploy-plan", applicationId),
    queryFn: ({ signal }) =>
      request("get", "/deploy/application/{application_id}/plan", {
        path: { application_id: applicationId },
        signal,
      }),
  });
}
