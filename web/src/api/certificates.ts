import { useMutation, useQuery } from "@tanstack/preact-query";
import { cache, inOrganization } from "./cache";
import { request, type Schemas } from "./client";
import { KEY as DOMAINS } from "./domains";

export type Certificate = Schemas["Certificate"];
export type UploadCertificate = Schemas["UploadCertificate"];

const KEY = "certificates";

export function useCertificates() {
  return useQuery({
    queryKey: inOrganization(KEY),
    queryFn: ({ signal }) => request("get", "/certificates", { signal }),
  });
}

/** Which domains the others are served for changes as well. */
const refresh = () =>
  Promise.all([KEY, DOMAINS].map((key) => cache.invalidateQueries({ queryKey: inOrganization(key) })));

export const useUploadCertificate = () =>
  useMutation({
    mutationFn: (body: UploadCertificate) => request("post", "/certificates", { body }),
    onSuccess: refresh,
  });

export const useDeleteCertificate = () =>
  useMutation({
    mutationFn: (id: string) => request("delete", "/certificates/{certificate_id}", { path: { certificate_id: id } }),
    onSuccess: refresh,
  });
