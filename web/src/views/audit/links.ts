import type { AuditActivity } from "../../api/audit";

type PageOf = (id: string, facts: AuditActivity["metadata"]) => string | undefined;

/** The page of a single thing, where it has one. */
const PAGES: Readonly<Record<string, PageOf>> = {
  application: (id) => `/applications/${id}`,
  deployment: (id, { application_id }) => application_id && `/applications/${application_id}/deployments/${id}`,
  delivery: (_, { application_id }) => application_id && `/applications/${application_id}`,
  upload: (_, { application_id }) => application_id && `/applications/${application_id}`,
  connection: (id) => `/connections/${id}`,
  extension: (_, { extension }) => extension && `/extensions/${encodeURIComponent(extension)}`,
  execution: (id) => `/extensions/executions/${id}`,
  installation: (id) => `/extensions/installations/${id}`,
  notice: (id) => `/organization/notifications/${id}`,
  uptime: (id) => `/applications/${id}/uptime`,
};

/** Where things are listed: this leads on although the thing itself is gone. */
const LISTS: Readonly<Record<string, string>> = {
  connection: "/connections",
  registry_credential: "/registries",
  extension: "/extensions",
  installation: "/extensions/installations",
  member: "/organization",
  invitation: "/organization/invitations",
  domain: "/organization/certificates",
  api_key: "/organization/keys",
  webhook: "/organization/notifications",
  smtp: "/organization/notifications",
  notice: "/organization/notifications/log",
  status_page: "/organization/status",
  organization: "/organization/about",
  user: "/instance/users",
};

/** The view of what an entry is about, or null where there is none. */
export function placeOf({ action, resource, resource_id, metadata }: AuditActivity): string | null {
  const page = action === "delete" ? null : PAGES[resource]?.(resource_id, metadata);
  return page || LISTS[resource] || null;
}
