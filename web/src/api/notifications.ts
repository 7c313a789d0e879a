import { useMutation, useQuery } from "@tanstack/preact-query";
import { cache, inOrganization } from "./cache";
import { ApiError, request, type Schemas } from "./client";

export type WebhookConfig = Schemas["WebhookConfig"];
export type WebhookType = Schemas["WebhookType"];
export type SmtpConfig = Schemas["SmtpConfig"];
export type SmtpSecurity = Schemas["SmtpSecurity"];

const webhookKey = (type: WebhookType) => inOrganization("notification-webhook", type);
const smtpKey = () => inOrganization("smtp");

/** There is none until it is set up: to the API that is not found, and to the views nothing went wrong. */
async function orNull<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof ApiError && error.code === "not_found") return null;
    throw error;
  }
}

export const useNotificationWebhook = (type: WebhookType) =>
  useQuery({
    queryKey: webhookKey(type),
    queryFn: ({ signal }) => orNull(request("get", "/notification/webhook/{type}", { path: { type }, signal })),
  });

export const useSmtp = (enabled: boolean) =>
  useQuery({
    queryKey: smtpKey(),
    queryFn: ({ signal }) => orNull(request("get", "/notification/smtp", { signal })),
    enabled,
  });

/** Makes it or changes it; what is left out stays as it is. */
export const useSaveWebhook = () =>
  useMutation({
    mutationFn: (body: Schemas["UpdateWebhookConfig"]) => request("put", "/notification/webhook", { body }),
    onSuccess: (answer) => cache.setQueryData(webhookKey(answer.type), answer),
  });

export const useDeleteWebhook = () =>
  useMutation({
    mutationFn: (type: WebhookType) => request("delete", "/notification/webhook", { body: { type } }),
    onSettled: (_data, _error, type) => cache.invalidateQueries({ queryKey: webhookKey(type) }),
  });

export const useSaveSmtp = (isNew: boolean) =>
  useMutation({
    mutationFn: (body: Schemas["CreateSmtpConfig"]) =>
      isNew ? request("post", "/notification/smtp", { body }) : request("put", "/notification/smtp", { body }),
    onSuccess: (answer) => cache.setQueryData(smtpKey(), answer),
  });

export const useDeleteSmtp = () =>
  useMutation({
    mutationFn: () => request("delete", "/notification/smtp", { body: {} }),
    onSettled: () => cache.invalidateQueries({ queryKey: smtpKey() }),
  });
