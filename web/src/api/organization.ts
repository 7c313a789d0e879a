import { useMutation, useQuery } from "@tanstack/preact-query";
import { MEMBERSHIPS } from "./account";
import { cache, inOrganization } from "./cache";
import { request, type Schemas } from "./client";

export type Organization = Schemas["Organization"];
export type Member = Schemas["OrganizationUser"];
export type Role = Schemas["Role"];
export type Invitation = Schemas["Invitation"];
export type InvitationCreated = Schemas["InvitationCreated"];

/** From the one that may least to the one that may all. */
export const ROLES: readonly Role[] = ["viewer", "member", "admin", "owner"];

const organizationKey = () => inOrganization("organization");
const membersKey = () => inOrganization("members");
const invitationsKey = () => inOrganization("invitations");
const keysKey = () => inOrganization("api-keys");

export const useOrganization = () =>
  useQuery({
    queryKey: organizationKey(),
    queryFn: ({ signal }) => request("get", "/organizations", { signal }),
  });

export const useMembers = (enabled = true) =>
  useQuery({
    queryKey: membersKey(),
    queryFn: ({ signal }) => request("get", "/organizations/users", { signal }),
    enabled,
  });

export const useInvitations = () =>
  useQuery({
    queryKey: invitationsKey(),
    queryFn: ({ signal }) => request("get", "/organizations/invites", { signal }),
  });

export const useOrganizationKeys = (enabled: boolean) =>
  useQuery({
    queryKey: keysKey(),
    queryFn: ({ signal }) => request("get", "/organizations/api-keys", { signal }),
    enabled,
  });

const stale = (...keys: (readonly unknown[])[]) =>
  Promise.all(keys.map((queryKey) => cache.invalidateQueries({ queryKey })));

/** What the session knows of the user's organizations and roles, as it is now. */
export const refreshMemberships = (): Promise<void> => cache.refetchQueries({ queryKey: MEMBERSHIPS });

export const useCreateOrganization = () =>
  useMutation({
    mutationFn: (body: Schemas["CreateOrganization"]) => request("post", "/organizations", { body }),
  });

export const useUpdateOrganization = () =>
  useMutation({
    mutationFn: (body: Schemas["UpdateOrganization"]) => request("put", "/organizations", { body }),
    onSuccess: (answer) => {
      cache.setQueryData(organizationKey(), answer);
      return stale(MEMBERSHIPS, organizationKey());
    },
  });

export const useDeleteOrganization = () =>
  useMutation({ mutationFn: (id: string) => request("delete", "/organizations", { body: { id } }) });

export const useUpdateRole = () =>
  useMutation({
    mutationFn: (body: { user_id: string; role: Role }) => request("post", "/organizations/update-user-role", { body }),
    // A lower role also withdraws the invitations that the member has sent.
    onSuccess: () => stale(membersKey(), invitationsKey(), MEMBERSHIPS),
  });

export const useRemoveMember = () =>
  useMutation({
    mutationFn: (user_id: string) => request("post", "/organizations/remove-user", { body: { user_id } }),
  });

/** The keys and the open invitations of a member go with the membership. */
export const refreshMembers = () => stale(membersKey(), invitationsKey(), keysKey());

export const useSendInvitation = () =>
  useMutation({
    mutationFn: (body: { email: string; role: Role }) => request("post", "/organizations/invite/send", { body }),
    onSuccess: () => stale(invitationsKey()),
  });

export const useWithdrawInvitation = () =>
  useMutation({
    mutationFn: (id: string) =>
      request("delete", "/organizations/invites/{invitation_id}", { path: { invitation_id: id } }),
    onSettled: () => stale(invitationsKey()),
  });

export const useRevokeOrganizationKey = () =>
  useMutation({
    mutationFn: (id: string) => request("delete", "/organizations/api-keys/{key_id}", { path: { key_id: id } }),
    onSuccess: () => stale(keysKey(), ["api-keys"]),
  });
