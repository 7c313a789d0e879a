import { useMutation, useQuery } from "@tanstack/preact-query";
import { cache, inOrganization } from "./cache";
import { request, type Schemas } from "./client";

export type RegistryCredential = Schemas["RegistryCredential"];

const KEY = "registry-credentials";

export function useRegistryCredentials() {
  return useQuery({
    queryKey: inOrganization(KEY),
    queryFn: ({ signal }) => request("get", "/registry-credentials", { signal }),
  });
}

const refresh = () => cache.invalidateQueries({ queryKey: inOrganization(KEY) });

interface Draft {
  host: string;
  username: string;
  password: string;
}

/** Without an id they are new. An empty password stays as it is. */
export const useSaveRegistryCredential = (id: string | null) =>
  useMutation({
    mutationFn: ({ host, username, password }: Draft) =>
      id === null
        ? request("post", "/registry-credentials", { body: { host, username, password } })
        : request("put", "/registry-credentials/{credential_id}", {
            path: { credential_id: id },
            body: { username, ...(password ? { password } : {}) },
          }),
    onSuccess: refresh,
  });

export const useDeleteRegistryCredential = () =>
  useMutation({
    mutationFn: (id: string) =>
      request("delete", "/registry-credentials/{credential_id}", { path: { credential_id: id } }),
    onSuccess: refresh,
  });
