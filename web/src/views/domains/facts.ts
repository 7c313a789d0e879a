import type { Certificate } from "../../api/certificates";
import type { Domain, UpdateDomain } from "../../api/domains";

/** As people write it. */
export const addressOf = ({ readable, path }: Domain): string => `${readable}${path === "/" ? "" : path}`;

/** Several applications can share a domain, each with paths of its own. */
export const keyOf = ({ domain, path }: Domain): string => `${domain}${path}`;

/** An application's domains, its main one first. */
export function domainsOf(applicationId: string, domains: readonly Domain[]): Domain[] {
  const own = domains.filter(({ application_id }) => application_id === applicationId);
  return [...own.filter(({ id }) => id === null), ...own.filter(({ id }) => id !== null)];
}

/**
 * Where visitors reach it, or null for a name that stands for many. The application's own address tells the port for http; the one for
 * https is not told, and only where http has its usual port is it safe to take the usual one.
 */
export function visitUrl({ domain, path, https }: Domain, applicationUrl: string): string | null {
  if (domain.startsWith("*.")) return null;
  const { port } = new URL(applicationUrl);
  const isEncrypted = https === "served" && port === "";
  return `${isEncrypted ? "https" : "http"}://${domain}${port && `:${port}`}${path}`;
}

/** Whether it is for the domain: by its own name, or by the wildcard right above it. */
export function covers({ names }: Certificate, domain: string): boolean {
  return names.includes(domain) || names.includes(domain.replace(/^[^.]+\./, "*."));
}

/** As the form shows it: an empty certificate is the best that there is. */
export interface DomainDraft {
  httpsOnly: boolean;
  certificateId: string;
}

export const draftOf = ({ https_only, chosen_certificate_id }: Domain): DomainDraft => ({
  httpsOnly: https_only,
  certificateId: chosen_certificate_id ?? "",
});

/** Only what differs from what the user began with: another user may have changed the rest meanwhile. */
export function changedBody(begun: DomainDraft, draft: DomainDraft): UpdateDomain {
  return {
    https_only: draft.httpsOnly === begun.httpsOnly ? null : draft.httpsOnly,
    certificate_id: draft.certificateId === begun.certificateId ? null : draft.certificateId,
  };
}
