import { keepPreviousData, useMutation, useQuery } from "@tanstack/preact-query";
import { request, type Schemas } from "./client";

export type Instance = Schemas["Instance"];
export type InstanceUser = Schemas["InstanceUser"];
export type Setting = Schemas["InstanceSetting"];

/** How often a view that is looked at asks again. */
export const REFRESH_MS = 5_000;
const PAGE_SIZE = 50;

export const useInstance = (refetchInterval: number | false) =>
  useQuery({
    queryKey: ["instance"],
    queryFn: ({ signal }) => request("get", "/instance", { signal }),
    refetchInterval,
  });

export const useHealth = () =>
  useQuery({
    queryKey: ["health"],
    queryFn: ({ signal }) => request("get", "/health", { signal }),
    refetchInterval: REFRESH_MS,
  });

export const useInstanceUsers = (search: string, page: number) =>
  useQuery({
    queryKey: ["instance-users", search, page],
    queryFn: ({ signal }) =>
      request("get", "/instance/users", { query: { search, page, page_size: PAGE_SIZE }, signal }),
    placeholderData: keepPreviousData,
  });

export const useMakePasswordReset = () =>
  useMutation({
    mutationFn: (user_id: string) => request("post", "/instance/users/{user_id}/password-reset", { path: { user_id } }),
  });

export const resetPassword = (body: Schemas["ResetPassword"]) => request("post", "/auth/reset-password", { body });
