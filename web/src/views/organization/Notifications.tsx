import { useState } from "preact/hooks";
import {
  useDeleteSmtp,
  useDeleteWebhook,
  useNotificationWebhook,
  useSmtp,
  type WebhookType,
} from "../../api/notifications";
import { useSession } from "../../session";
import { useText } from "../../text";
import { Facts } from "../../ui/Facts";
import { Channel } from "./Channel";
import { EditSmtp } from "./EditSmtp";
import { EditWebhook } from "./EditWebhook";
import { maskedUrl } from "./masked";

const TYPES: readonly WebhookType[] = ["slack", "discord", "teams", "telegram", "ntfy", "webhook"];

export function Notifications() {
  const t = useText();
  const { may } = useSession();
  return (
    <>
      <section class="stack">
        <h2>{t.notifications.webhooks}</h2>
        {!may("webhook:update") && <p class="muted">{t.notifications.mayNot}</p>}
        <div class="columns">
          {TYPES.map((type) => (
            <Webhook key={type} type={type} />
          ))}
        </div>
      </section>
      <section class="stack">
        <h2>{t.notifications.mailTitle}</h2>
        {may("smtp:read") ? (
          <div class="stack form-page">
            <Mail />
          </div>
        ) : (
          <p class="muted">{t.notifications.mailMayNot}</p>
        )}
      </section>
    </>
  );
}

function Webhook({ type }: { type: WebhookType }) {
  const t = useText();
  const { may } = useSession();
  const stored = useNotificationWebhook(type);
  const remove = useDeleteWebhook();
  const [edits, setEdits] = useState(false);
  const name = t.notifications.kind[type];
  return (
    <>
      <Channel
        name={name}
        hint={t.notifications.kindHint[type]}
        asked={stored}
        isActive={stored.data?.is_active}
        mayUpdate={may(stored.data ? "webhook:update" : "webhook:create")}
        mayDelete={may("webhook:delete")}
        removeText={t.notifications.removeText}
        removal={{ ...remove, start: (done) => remove.mutate(type, { onSuccess: done }) }}
        onEdit={() => setEdits(true)}
      >
        {stored.data && <code class="break">{maskedUrl(stored.data.webhook_url)}</code>}
      </Channel>
      {edits && <EditWebhook type={type} stored={stored.data ?? null} onClose={() => setEdits(false)} />}
    </>
  );
}

function Mail() {
  const t = useText();
  const { may } = useSession();
  const stored = useSmtp(true);
  const remove = useDeleteSmtp();
  const [edits, setEdits] = useState(false);
  const config = stored.data;
  return (
    <>
      <Channel
        name={t.notifications.mail}
        hint={t.notifications.mailHint}
        asked={stored}
        isActive={config?.is_active}
        mayUpdate={may("smtp:update")}
        mayDelete={may("smtp:delete")}
        removeText={t.notifications.mailRemoveText}
        removal={{ ...remove, start: (done) => remove.mutate(undefined, { onSuccess: done }) }}
        onEdit={() => setEdits(true)}
      >
        {config && (
          <Facts
            rows={[
              [t.notifications.host, `${config.host}:${config.port}`],
              [t.notifications.security, t.notifications.securityIs[config.security]],
              [t.notifications.username, config.username],
              [
                t.notifications.password,
                config.has_password ? t.notifications.passwordStored : t.notifications.passwordNone,
              ],
              [t.notifications.from, [config.from_name, config.from_email].filter(Boolean).join(", ")],
            ]}
          />
        )}
      </Channel>
      {edits && <EditSmtp stored={config ?? null} onClose={() => setEdits(false)} />}
    </>
  );
}
