import { keepPreviousData, useMutation, useQuery } from "@tanstack/preact-query";
import { refreshApplication } from "./applications";
import { cache, inOrganization } from "./cache";
import { ApiError, request, type Schemas } from "./client";

export type Webhook = Schemas["ApplicationWebhook"];
export type Delivery = Schemas["Delivery"];
export type Verdict = Schemas["DeliveryVerdict"];

const PAGE_SIZE = 25;
/** Deliveries that deploy nothing are no event. */
const LOOK_MS = 10_000;

const inPath = (id: string) => ({ path: { application_id: id } });
const webhookKey = (id: string) => inOrganization("webhook", id);
const keyKey = (id: string) => inOrganization("deploy-key", id);

export function useWebhook(applicationId: string, enabled: boolean) {
  return useQuery({
    queryKey: webhookKey(applicationId),
    queryFn: ({ signal }) =>
      request("get", "/deploy/application/{application_id}/webhook", { ...inPath(applicationId), signal }),
    enabled,
  });
}

/** The answer of a change is what is shown from then on. */
function useWebhookChange<V>(applicationId: string, mutationFn: (variables: V) => Promise<Webhook>) {
  return useMutation({
    mutationFn,
    onSuccess: (webhook) => cache.setQueryData(webhookKey(applicationId), webhook),
  });
}

export const useRotateSecret = (id: string) =>
  useWebhookChange(id, (body: Schemas["RotateWebhook"]) =>
    request("post", "/deploy/application/{application_id}/webhook/rotate", { ...inPath(id), body }),
  );

export const useRegisterWebhook = (id: string) =>
  useWebhookChange(id, (register: boolean) =>
    register
      ? request("post", "/deploy/application/{application_id}/webhook/register", inPath(id))
      : request("delete", "/deploy/application/{application_id}/webhook/register", inPath(id)),
  );

export function useDeliveries(applicationId: string, page: number, verdict: Verdict | "") {
  return useQuery({
    queryKey: inOrganization("deliveries", applicationId, page, verdict),
    queryFn: ({ signal }) =>
      request("get", "/deploy/application/{application_id}/deliveries", {
        ...inPath(applicationId),
        query: { page, page_size: PAGE_SIZE, ...(verdict ? { verdict } : {}) },
        signal,
      }),
    placeholderData: keepPreviousData,
    refetchInterval: LOOK_MS,
  });
}

export function useDelivery(id: string, enabled: boolean) {
  return useQuery({
    queryKey: inOrganization("delivery", id),
    queryFn: ({ signal }) => request("get", "/deploy/deliveries/{delivery_id}", { path: { delivery_id: id }, signal }),
    enabled,
  });
}

export const useReplay = (applicationId: string) =>
  useMutation({
    mutationFn: (id: string) =>
      request("post", "/deploy/deliveries/{delivery_id}/replay", { path: { delivery_id: id } }),
    onSettled: () => {
      void cache.invalidateQueries({ queryKey: inOrganization("deliveries", applicationId) });
      refreshApplication(applicationId);
    },
  });

/** Null if the application has none. */
export function useDeployKey(applicationId: string, enabled: boolean) {
  return useQuery({
    queryKey: keyKey(applicationId),
    queryFn: ({ signal }) =>
      request("get", "/deploy/application/{application_id}/deploy-key", { ...inPath(applicationId), signal }).catch(
        (error: unknown) => {
          if (error instanceof ApiError && error.status === 404) return null;
          throw error;
        },
      ),
    enabled,
  });
}

export const useCreateDeployKey = (id: string) =>
  useMutation({
    mutationFn: () => request("post", "/deploy/application/{application_id}/deploy-key", inPath(id)),
    onSuccess: (key) => {
      cache.setQueryData(keyKey(id), key);
      refreshApplication(id);
    },
  });

export const useDeleteDeployKey = (id: string) =>
  useMutation({
    mutationFn: () => request("delete", "/deploy/application/{application_id}/deploy-key", inPath(id)),
    onSuccess: () => {
      cache.setQueryData(keyKey(id), null);
      refreshApplication(id);
    },
  });
