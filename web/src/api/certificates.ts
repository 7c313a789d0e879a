import { useMutation, useQuery } from "@tanstack/preact-query";
import { inOrganization } from "./cache";
import { request, type Schemas } from "./client";
import { CERTIFICATES, refreshDomains } from "./domains";

export type Certificate = Schemas["Certificate"];
export type UploadCertificate = Schemas["UploadCertificate"];

export function useCertificates() {
  return useQuery({
    queryKey: inOrganization(CERTIFICATES),
    queryFn: ({ signal }) => request("get", "/certificates", { signal }),
  });
}

export const useUploadCertificate = () =>
  useMutation({
    mutationFn: (body: UploadCertificate) => request("post", "/certificates", { body }),
    onSuccess: refreshDomains,
  });

export const useDeleteCertificate = () =>
  useMutation({
    mutationFn: (id: string) => request("delete", "/certificates/{certificate_id}", { path: { certificate_id: id } }),
    onSuccess: refreshDomains,
  });
