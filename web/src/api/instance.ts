import { keepPreviousData, useMutation, useQuery } from "@tanstack/preact-query";
import { address, open, request, type Schemas } from "./client";

// Types and requests written by hand until openapi.json has them; then they are `Schemas[...]` and `request`.
export interface Setting {
  name: string;
  value: string;
  is_default: boolean;
}

export interface Instance {
  version: string;
  started_at: string;
  database: "sqlite" | "postgres";
  public_url: string;
  edge_addresses: string[];
  engine: { version: string; problem: string };
  disk: { total_bytes: number; free_bytes: number };
  queue: { waiting: number; running: number };
  users: number;
  organizations: number;
  applications: number;
  settings: Setting[];
}

export interface InstanceUser {
  id: string;
  username: string;
  email: string;
  type: Schemas["UserType"];
  two_factor_enabled: boolean;
  /** How many. */
  organizations: number;
  created_at: string;
}

export interface InstanceUsers {
  users: InstanceUser[];
  pagination: Schemas["Pagination"];
}

export interface PasswordReset {
  token: string;
  expires_at: string;
}

async function ask<T>(path: string, init: RequestInit, query?: object): Promise<T> {
  const answer = await open(address(path, query), init);
  return ((await answer.json()) as { data: T }).data;
}

const signalled = (signal: AbortSignal): RequestInit => ({ signal });

/** How often a view that is looked at asks again. */
export const REFRESH_MS = 5_000;
const PAGE_SIZE = 50;

export const useInstance = (refetchInterval: number | false) =>
  useQuery({
    queryKey: ["instance"],
    queryFn: ({ signal }) => ask<Instance>("/instance", signalled(signal)),
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
      ask<InstanceUsers>("/instance/users", signalled(signal), { search, page, page_size: PAGE_SIZE }),
    placeholderData: keepPreviousData,
  });

export const useMakePasswordReset = () =>
  useMutation({
    mutationFn: (userId: string) =>
      ask<PasswordReset>(`/instance/users/${encodeURIComponent(userId)}/password-reset`, { method: "POST" }),
  });

export const resetPassword = (body: { token: string; password: string }) =>
  ask<null>("/auth/reset-password", { method: "POST", body: JSON.stringify(body) });
