import { useRoute } from "preact-iso";
import type { WebhookType } from "../../api/notifications";
import { useSession } from "../../session";
import { useText } from "../../text";
import { ButtonLink } from "../../ui/Button";
import { MailServer } from "./MailServer";
import { NoticePage } from "./NoticePage";
import { Notices } from "./Notices";
import { WebhookChannel } from "./WebhookChannel";
import "./notifications.css";

const TYPES: readonly WebhookType[] = ["slack", "discord", "teams", "telegram", "ntfy", "webhook"];

/** Where the organization is told of what happens; what was told; or one message of it. */
export default function Notifications() {
  const { params } = useRoute();
  if (params.item === "log") return <Notices />;
  if (params.item) return <NoticePage key={params.item} id={params.item} />;
  return <Channels />;
}

function Channels() {
  const t = useText().notifications;
  const { may } = useSession();
  return (
    <>
      <section class="stack">
        <div class="row between">
          <h2>{t.channels}</h2>
          <ButtonLink href="/organization/notifications/log">{t.log}</ButtonLink>
        </div>
        <p class="muted">
          {t.channelsHint} {!may("webhook:update") && t.mayNot}
        </p>
        <div class="columns">
          {TYPES.map((type) => (
            <WebhookChannel key={type} type={type} />
          ))}
        </div>
      </section>
      <section class="stack">
        <h2>{t.mailTitle}</h2>
        <p class="muted">
          {t.mailText} <a href="/account/notifications">{t.toOwn}</a>
        </p>
        {may("smtp:read") ? (
          <div class="stack form-page">
            <MailServer />
          </div>
        ) : (
          <p class="muted">{t.mailMayNot}</p>
        )}
      </section>
    </>
  );
}
