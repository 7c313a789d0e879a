import { useQuery } from "@tanstack/preact-query";
import { request, type Schemas } from "./client";
import { rememberLogin } from "./renewal";

export const useIsAdminRegistered = () =>
  useQuery({
    queryKey: ["is-admin-registered"],
    queryFn: ({ signal }) => request("get", "/auth/is-admin-registered", { signal }),
  });

/** From then on all tabs know when the login is to be renewed. */
async function known(entered: Promise<Schemas["LoggedIn"]>): Promise<Schemas["LoggedIn"]> {
  const loggedIn = await entered;
  rememberLogin(loggedIn.expires_at);
  return loggedIn;
}

export const logIn = (body: Schemas["Login"]) => known(request("post", "/auth/login", { body }));
export const register = (body: Schemas["Register"]) => known(request("post", "/auth/register", { body }));
export const logOut = () => request("post", "/auth/logout");
export const requestPasswordReset = (email: string) =>
  request("post", "/auth/request-password-reset", { body: { email } });
export const verifyEmail = (token: string) => request("post", "/auth/verify-email", { body: { token } });
export const acceptInvitation = (token: string) => request("post", "/organizations/invite/accept", { body: { token } });
