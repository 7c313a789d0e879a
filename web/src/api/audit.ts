import { keepPreviousData, useMutation, useQuery } from "@tanstack/preact-query";
import { inOrganization } from "./cache";
import { request, type Schemas } from "./client";

export type AuditActivity = Schemas["AuditActivity"];
export type AuditAction = "create" | "update" | "delete" | "access";
export type AuditScope = "organization" | "instance";

/** As the API takes it: times are exact. */
export interface AuditQuery {
  search?: string;
  actor?: string;
  action?: AuditAction;
  resource_type?: string;
  from?: string;
  to?: string;
  scope?: AuditScope;
  page?: number;
}

const PAGE_SIZE = 50;

export function useAudit(query: AuditQuery) {
  return useQuery({
    queryKey: inOrganization("audit", query),
    queryFn: ({ signal }) => request("get", "/audit/logs", { query: { ...query, page_size: PAGE_SIZE }, signal }),
    placeholderData: keepPreviousData,
  });
}

export type AuditVerification = Schemas["AuditVerification"];

export const useVerifyAudit = () => useMutation({ mutationFn: () => request("get", "/audit/verify", {}) });
