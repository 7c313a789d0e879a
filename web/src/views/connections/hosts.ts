import type { CodeHost, CreateConnection } from "../../api/connections";

export const HOSTS: Readonly<Record<CodeHost, string>> = {
  github: "GitHub",
  gitlab: "GitLab",
  gitea: "Gitea",
  forgejo: "Forgejo",
  bitbucket: "Bitbucket Cloud",
  "bitbucket-server": "Bitbucket Server",
};

/** Where a host is unless it is one of the user's own. Hosts that are not here always are. */
const PUBLIC: Partial<Readonly<Record<CodeHost, string>>> = {
  github: "https://github.com",
  gitlab: "https://gitlab.com",
  bitbucket: "https://bitbucket.org",
};

export const publicAddress = (host: CodeHost): string => PUBLIC[host] ?? "";

/** Bitbucket Cloud is at one address only. */
export const hasAddress = (host: CodeHost): boolean => host !== "bitbucket";

const TOKEN_PATHS: Readonly<Record<CodeHost, string>> = {
  github: "/settings/personal-access-tokens/new",
  gitlab: "/-/user_settings/personal_access_tokens",
  gitea: "/user/settings/applications",
  forgejo: "/user/settings/applications",
  bitbucket: "",
  "bitbucket-server": "/plugins/servlet/access-tokens/manage",
};

/** The host's own page where tokens are made; empty as long as it is not known where the host is. */
export function tokenPage(host: CodeHost, baseUrl: string): string {
  if (host === "bitbucket") return "https://id.atlassian.com/manage-profile/security/api-tokens";
  const typed = baseUrl.trim().replace(/\/+$/, "");
  const base = typed === "" ? publicAddress(host) : typed.includes("://") ? typed : `https://${typed}`;
  return /^https?:\/\/[^/]/.test(base) ? base + TOKEN_PATHS[host] : "";
}

export interface ConnectionDraft {
  host: CodeHost;
  way: "app" | "token";
  /** Null as long as it is proposed from the host. */
  name: string | null;
  baseUrl: string;
  workspace: string;
  username: string;
  token: string;
  githubOrganization: string;
}

export const EMPTY_DRAFT: ConnectionDraft = {
  host: "github",
  way: "app",
  name: null,
  baseUrl: "",
  workspace: "",
  username: "",
  token: "",
  githubOrganization: "",
};

export const nameOf = (draft: ConnectionDraft): string => draft.name ?? HOSTS[draft.host];

/** What is empty, or not for this host, is left out. */
export function bodyOf(draft: ConnectionDraft): CreateConnection {
  const body: CreateConnection = { name: nameOf(draft).trim(), host: draft.host, token: draft.token.trim() };
  if (hasAddress(draft.host) && draft.baseUrl.trim()) body.base_url = draft.baseUrl.trim();
  if (draft.host === "bitbucket") {
    if (draft.workspace.trim()) body.workspace = draft.workspace.trim();
    if (draft.username.trim()) body.username = draft.username.trim();
  }
  return body;
}
