import type { Permission } from "../../api/account";
import { linked } from "../../api/client";
import { type Member, ROLES, type Role } from "../../api/organization";

type May = (permission: Permission) => boolean;

export const roleOf = (member: Member): Role => member.roles[0] ?? "viewer";

/** What members are called: by their name, which need not be unique, so lists show the address below it. */
export const nameOf = (member: Member): string => linked(member.user)?.username ?? member.user_id;
export const emailOf = (member: Member): string => linked(member.user)?.email ?? "";

/** The roles that a user may give: only owners make owners. */
export const grantable = (may: May): readonly Role[] =>
  may("owner:update") ? ROLES : ROLES.filter((role) => role !== "owner");

export const isLower = (role: Role, than: Role): boolean => ROLES.indexOf(role) < ROLES.indexOf(than);

export interface Offers {
  role: boolean;
  remove: boolean;
  leave: boolean;
  /** The organization keeps this one, since it would have no owner without. */
  isLastOwner: boolean;
}

/** What a user is offered to do with a member, by the same rules that the API has. */
export function offersFor(member: Member, members: readonly Member[], userId: string, may: May): Offers {
  const isSelf = member.user_id === userId;
  const isOwner = roleOf(member) === "owner";
  const isLastOwner = isOwner && members.filter((other) => roleOf(other) === "owner").length === 1;
  const isOutOfReach = isLastOwner || (isOwner && !may("owner:update"));
  return {
    role: !isOutOfReach && may("member:update"),
    remove: !isOutOfReach && !isSelf && may("member:delete"),
    leave: isSelf && !isLastOwner,
    isLastOwner,
  };
}
