import { useMutation } from "@tanstack/preact-query";
import { refreshApplication } from "./applications";
import { address, request, type Schemas } from "./client";

export type ImportVariables = Schemas["ImportVariables"];

export const variablesAddress = (applicationId: string, kind: Schemas["VariableKind"]): string =>
  address(`/deploy/application/${applicationId}/variables/${kind}/download`);

export function useImportVariables(applicationId: string) {
  return useMutation({
    mutationFn: (body: ImportVariables) =>
      request("post", "/deploy/application/{application_id}/variables", {
        path: { application_id: applicationId },
        body,
      }),
    onSettled: () => refreshApplication(applicationId),
  });
}
