import { useMutation, useQuery } from "@tanstack/preact-query";
import { cache } from "./cache";
import { request, type Schemas } from "./client";

export type User = Schemas["User"];
export type UserSettings = Schemas["UserSettings"];
export type Membership = Schemas["OrganizationUser"];
export type Permission = Schemas["Permission"];

const USER = ["user"];
export const MEMBERSHIPS = ["memberships"];
const SETTINGS = ["settings"];
const SESSIONS = ["sessions"];
const KEYS = ["api-keys"];

export const useUser = () =>
  useQuery({
    queryKey: USER,
    queryFn: ({ signal }) => request("get", "/user", { signal }),
    retry: false,
    // Another user may have logged in in another tab while this one was not looked at.
    refetchOnWindowFocus: "always",
  });

export const useMemberships = (enabled: boolean) =>
  useQuery({
    queryKey: MEMBERSHIPS,
    queryFn: ({ signal }) => request("get", "/user/organizations", { signal }),
    enabled,
  });

export const useSettings = (enabled = true) =>
  useQuery({ queryKey: SETTINGS, queryFn: ({ signal }) => request("get", "/user/settings", { signal }), enabled });

export const useSessions = () =>
  useQuery({ queryKey: SESSIONS, queryFn: ({ signal }) => request("get", "/auth/sessions", { signal }) });

export const useApiKeys = () =>
  useQuery({ queryKey: KEYS, queryFn: ({ signal }) => request("get", "/auth/api-keys", { signal }) });

/** A change of the account, after which what it has touched is asked for again. */
function useChange<V, T>(change: (variables: V) => Promise<T>, ...touched: string[][]) {
  return useMutation({
    mutationFn: change,
    onSuccess: () => Promise.all(touched.map((queryKey) => cache.invalidateQueries({ queryKey }))),
  });
}

export const useRename = () =>
  useChange((name: string) => request("patch", "/user/name", { body: { name } }), USER, MEMBERSHIPS);
export const useChangeEmail = () =>
  useChange((body: Schemas["ChangeEmail"]) => request("patch", "/user/email", { body }));
export const useChangePassword = () =>
  useChange((body: Schemas["ChangePassword"]) => request("post", "/auth/password", { body }), SESSIONS);
export const useRevokeSession = () =>
  useChange((id: string) => request("delete", "/auth/sessions/{session_id}", { path: { session_id: id } }), SESSIONS);
export const useCreateApiKey = () =>
  useChange((body: Schemas["CreateApiKey"]) => request("post", "/auth/api-keys", { body }), KEYS);
export const useRevokeApiKey = () =>
  useChange((id: string) => request("delete", "/auth/api-keys/{key_id}", { path: { key_id: id } }), KEYS);

export const useSetUpSecondFactor = () =>
  useChange((password: string) => request("post", "/auth/setup-2fa", { body: { password } }));
export const useConfirmSecondFactor = () =>
  useChange((code: string) => request("post", "/auth/verify-2fa", { body: { code } }), USER);
export const useDisableSecondFactor = () =>
  useChange((code: string) => request("post", "/auth/disable-2fa", { body: { code } }), USER);
export const useRenewRecoveryCodes = () =>
  useChange((code: string) => request("post", "/auth/recovery-codes", { body: { code } }));

export type SettingsChange = Schemas["UpdateTheme"] | Schemas["UpdateFont"] | Schemas["UpdateLanguage"];

function sendSettings(body: SettingsChange) {
  if ("theme" in body) return request("patch", "/user/settings/theme", { body });
  if ("language" in body) return request("patch", "/user/settings/language", { body });
  return request("patch", "/user/settings/font", { body });
}

/** Shown at once, since the user sees the effect and can choose another; what is stored is shown again if it is refused. */
export function useUpdateSettings() {
  const mutation = useMutation({
    mutationKey: SETTINGS,
    mutationFn: sendSettings,
    onError: () => cache.invalidateQueries({ queryKey: SETTINGS }),
    onSuccess: (answer) => {
      const isLast = cache.isMutating({ mutationKey: SETTINGS }) === 1;
      if (isLast) cache.setQueryData(SETTINGS, answer);
    },
  });
  const mutate: typeof mutation.mutate = (body, options) => {
    // What was asked for before this change must not be shown after it.
    void cache.cancelQueries({ queryKey: SETTINGS }, { revert: false, silent: true });
    const before = cache.getQueryData<UserSettings>(SETTINGS);
    if (before) cache.setQueryData(SETTINGS, { ...before, ...body });
    mutation.mutate(body, options);
  };
  return { ...mutation, mutate };
}
