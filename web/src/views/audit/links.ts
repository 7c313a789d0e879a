import type { AuditActivity } from "../../api/audit";

/** Where single things have a page of their own, by their id. */
const PAGES: Readonly<Record<string, (id: string) => string>> = {
  application: (id) => `/applications/${id}`,
  extension: (id) => `/extensions/${id}`,
};

/** Where things are listed: this leads on although the thing itself is gone. */
const LISTS: Readonly<Record<string, string>> = {
  member: "/organization",
  invitation: "/organization/invitations",
  api_key: "/organization/keys",
  webhook: "/organization/notifications",
  smtp: "/organization/notifications",
  organization: "/organization/about",
  connection: "/connections",
  user: "/instance/users",
};

/** The view of what an entry is about, or null where there is none. */
export function placeOf({ action, resource, resource_id, metadata }: AuditActivity): string | null {
  const application = metadata.application_id;
  if (resource === "deployment" && application) return `/applications/${application}/deployments/${resource_id}`;
  if (resource === "delivery" && application) return `/applications/${application}`;
  const page = PAGES[resource];
  if (page) return action === "delete" ? null : page(resource_id);
  return LISTS[resource] ?? null;
}
