import { queryOptions, useMutation, useQuery } from "@tanstack/preact-query";
import { cache, inOrganization } from "./cache";
import { currentOrganizationId, request, type Schemas } from "./client";
import { refreshDomains } from "./domains";

export type StatusPage = Schemas["StatusPage"];
export type StatusPageApplication = Schemas["StatusPageApplication"];
export type UpdateStatusPage = Schemas["UpdateStatusPage"];

const PATH = "/organizations/{organization_id}/status-page";
const inPath = () => ({ organization_id: currentOrganizationId() });

const statusPageQuery = () =>
  queryOptions({
    queryKey: inOrganization("status-page"),
    queryFn: ({ signal }) => request("get", PATH, { path: inPath(), signal }),
  });

export const useStatusPage = () => useQuery(statusPageQuery());

/** What is stored now: no event tells of a change. */
export const fetchStatusPage = (): Promise<StatusPage> => cache.fetchQuery({ ...statusPageQuery(), staleTime: 0 });

/** The answer of a change is what is shown from then on. */
export const useUpdateStatusPage = () =>
  useMutation({
    mutationFn: (body: UpdateStatusPage) => request("put", PATH, { path: inPath(), body }),
    onSuccess: (page) => {
      cache.setQueryData(statusPageQuery().queryKey, page);
      void refreshDomains();
    },
  });
