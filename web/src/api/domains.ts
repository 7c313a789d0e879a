import { useMutation, useQuery } from "@tanstack/preact-query";
import { cache, inOrganization } from "./cache";
import { request, type Schemas } from "./client";

export type Domain = Schemas["Domain"];
export type AddDomain = Schemas["AddDomain"];
export type UpdateDomain = Schemas["UpdateDomain"];
export type DomainCheck = Schemas["DomainCheck"];
export type DnsRecord = Schemas["DnsRecord"];
export type Redirect = Schemas["Redirect"];

const KEY = "domains";
export const CERTIFICATES = "certificates";
/** An order takes seconds, and no event tells of its end. */
const WHILE_ORDERING_MS = 3_000;

/** Those of the organization. With the id of the application that asks, its events make them stale too. */
export function useDomains(applicationId = "") {
  return useQuery({
    queryKey: inOrganization(KEY, applicationId),
    queryFn: ({ signal }) => request("get", "/domains", { signal }),
    refetchInterval: ({ state }) =>
      state.data?.domains.some(({ https }) => https === "ordering") ? WHILE_ORDERING_MS : false,
  });
}

/** Asked once, and again only by the user: an answer takes up to ten seconds. Nothing of it is kept, since DNS changes without a word. */
export function useDomainCheck(domain: string) {
  return useQuery({
    queryKey: inOrganization("domain-check", domain),
    queryFn: ({ signal }) => request("get", "/domains/{domain}/check", { path: { domain }, signal }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
}

/** Which domain is served with which certificate is told by both. */
export const refreshDomains = () =>
  Promise.all([KEY, CERTIFICATES].map((key) => cache.invalidateQueries({ queryKey: inOrganization(key) })));

function useDomainChange<V, T>(mutationFn: (variables: V) => Promise<T>) {
  return useMutation({ mutationFn, onSuccess: refreshDomains });
}

export const useAddDomain = (applicationId: string) =>
  useDomainChange((body: AddDomain) =>
    request("post", "/deploy/application/{application_id}/domains", { path: { application_id: applicationId }, body }),
  );

export const useRemoveDomain = (applicationId: string) =>
  useDomainChange((id: string) =>
    request("delete", "/deploy/application/{application_id}/domains/{domain_id}", {
      path: { application_id: applicationId, domain_id: id },
    }),
  );

export const useUpdateDomain = (domain: string) =>
  useDomainChange((body: UpdateDomain) => request("put", "/domains/{domain}", { path: { domain }, body }));

export const useOrderAgain = () =>
  useDomainChange((domain: string) => request("post", "/domains/{domain}/retry", { path: { domain } }));
