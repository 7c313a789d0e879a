import { keepPreviousData, useMutation, useQuery } from "@tanstack/preact-query";
import { cache, inOrganization } from "./cache";
import { ApiError, request, type Schemas } from "./client";

export type WebhookConfig = Schemas["WebhookConfig"];
export type WebhookType = Schemas["WebhookType"];
export type SmtpConfig = Schemas["SmtpConfig"];
export type SmtpSecurity = Schemas["SmtpSecurity"];
export type ChannelTest = Schemas["ChannelTest"];
export type NoticeChannel = Schemas["Channel"];
export type EventName = Schemas["EventName"];
export type Preference = Schemas["NotificationPreference"];
export type Preferences = Schemas["NotificationPreferences"];
export type Notice = Schemas["Notice"];
export type NoticeState = Schemas["NoticeState"];
export type NoticeAttempt = Schemas["NoticeAttempt"];

const PAGE_SIZE = 25;
/** What becomes of a notice is no event. */
const LOOK_MS = 5_000;

const webhookKey = (type: WebhookType) => inOrganization("notification-webhook", type);
const smtpKey = () => inOrganization("smtp");
const secretKey = () => inOrganization("signing-secret");
const preferencesKey = () => inOrganization("notification-preferences");

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
    // The next one has another.
    onSuccess: () => cache.removeQueries({ queryKey: secretKey() }),
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

/** Sends a message now, to what is stored. */
export const useTestWebhook = () =>
  useMutation({ mutationFn: (type: WebhookType) => request("post", "/notification/webhook/test", { body: { type } }) });

/** To the address of who asks for it. */
export const useTestSmtp = () =>
  useMutation({ mutationFn: () => request("post", "/notification/smtp/test", { body: {} }) });

export const useSigningSecret = () =>
  useQuery({
    queryKey: secretKey(),
    queryFn: ({ signal }) => request("get", "/notification/webhook/secret", { signal }),
  });

export const useRotateSigningSecret = () =>
  useMutation({
    mutationFn: () => request("post", "/notification/webhook/secret", { body: {} }),
    onSuccess: (answer) => cache.setQueryData(secretKey(), answer),
  });

export const usePreferences = () =>
  useQuery({
    queryKey: preferencesKey(),
    queryFn: ({ signal }) => request("get", "/notification/preferences", { signal }),
  });

export const useSavePreference = () =>
  useMutation({
    mutationFn: (body: Schemas["UpdateNotificationPreference"]) =>
      request("post", "/notification/preferences", { body }),
    onSuccess: (saved) =>
      cache.setQueryData(
        preferencesKey(),
        (before: Preferences | undefined) => before && withPreference(before, saved),
      ),
  });

/** What was just saved, in the place of what was there. */
function withPreference(before: Preferences, saved: Preference): Preferences {
  if (saved.channel === "email") return { ...before, email: saved };
  return { ...before, channels: before.channels.map((one) => (one.channel === saved.channel ? saved : one)) };
}

export interface NoticeFilter {
  channel?: NoticeChannel;
  state?: NoticeState;
  application_id?: string;
  /** Those that are older than this one. */
  before?: string;
}

export const useNotices = (filter: NoticeFilter) =>
  useQuery({
    queryKey: inOrganization("notices", filter),
    queryFn: ({ signal }) =>
      request("get", "/notification/notices", { query: { ...filter, limit: PAGE_SIZE }, signal }),
    placeholderData: keepPreviousData,
    refetchInterval: LOOK_MS,
  });

/** With the tries to deliver it. */
export const useNotice = (id: string, enabled: boolean) =>
  useQuery({
    queryKey: inOrganization("notice", id),
    queryFn: ({ signal }) => request("get", "/notification/notices/{notice_id}", { path: { notice_id: id }, signal }),
    enabled,
    refetchInterval: LOOK_MS,
  });

export const useSendAgain = () =>
  useMutation({
    mutationFn: (id: string) => request("post", "/notification/notices/{notice_id}/send", { path: { notice_id: id } }),
    onSettled: (_data, _error, id) => {
      void cache.invalidateQueries({ queryKey: inOrganization("notice", id) });
      void cache.invalidateQueries({ queryKey: inOrganization("notices") });
    },
  });
