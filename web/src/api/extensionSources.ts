import { useMutation, useQuery } from "@tanstack/preact-query";
import { type Application, refreshApplication } from "./applications";
import { cache, inOrganization } from "./cache";
import { request, type Schemas } from "./client";

export type ApplicationExtension = Schemas["ApplicationExtension"];
export type CreateExtensionApplication = Schemas["CreateExtensionApplication"];

/** What an application of an extension is made of, and what an update would bring. */
export const useApplicationExtension = ({ id, updated_at }: Application) =>
  useQuery({
    // An update changes the application, and a deployment that ends may bring the text of before back.
    queryKey: inOrganization("application", id, "extension", updated_at),
    queryFn: ({ signal }) =>
      request("get", "/deploy/application/{application_id}/extension", { path: { application_id: id }, signal }),
  });

export const useUpdateFromExtension = (id: string) =>
  useMutation({
    mutationFn: (body: Schemas["UpdateFromExtension"]) =>
      request("post", "/deploy/application/{application_id}/extension", { path: { application_id: id }, body }),
    onSettled: () => {
      refreshApplication(id);
      // One that is refused because of a newer text is looked at again.
      cache.invalidateQueries({ queryKey: inOrganization("extension") });
    },
  });

/** The same key makes the server do it once, however often a request is sent. */
export const useCreateExtensionApplication = (extensionId: string) =>
  useMutation({
    mutationFn: ({ body, key }: { body: CreateExtensionApplication; key: string }) =>
      request("post", "/extensions/{extension_id}/application", {
        path: { extension_id: extensionId },
        body,
        headers: { "Idempotency-Key": key },
      }),
    onSuccess: ({ id }) => refreshApplication(id),
  });
