import type { Permission, User } from "../api/account";
import type { Text } from "../text";

export interface Place {
  href: string;
  name: (t: Text) => string;
  /** Who may not do this is not shown the way there. */
  may: Permission;
  /** After `g` on the keyboard. */
  key: string;
}

/** What the top bar, the command palette and the keys lead to, beside the account. */
export const PLACES: Place[] = [
  { href: "/applications", name: (t) => t.shell.applications, may: "deploy:read", key: "a" },
  { href: "/extensions", name: (t) => t.shell.extensions, may: "extension:read", key: "e" },
  { href: "/connections", name: (t) => t.shell.connections, may: "connection:read", key: "c" },
  { href: "/audit", name: (t) => t.shell.audit, may: "audit:read", key: "l" },
  { href: "/organization", name: (t) => t.shell.organization, may: "organization:read", key: "o" },
];

/** This server itself, which belongs to no organization and is for its admins. */
export const INSTANCE = { href: "/instance", key: "i" };
export const isAdmin = (user: User): boolean => user.type === "admin";
