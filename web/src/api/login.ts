import { useQuery } from "@tanstack/preact-query";
import { request, type Schemas } from "./client";

export const useIsAdminRegistered = () =>
  useQuery({
    queryKey: ["is-admin-registered"],
    queryFn: ({ signal }) => request("get", "/auth/is-admin-registered", { signal }),
  });

export const logIn = (body: Schemas["Login"]) => request("post", "/auth/login", { body });
export const register = (body: Schemas["Register"]) => request("post", "/auth/register", { body });
export const logOut = () => request("post", "/auth/logout");
export const acceptInvitation = (token: string) => request("post", "/organizations/invite/accept", { body: { token } });
