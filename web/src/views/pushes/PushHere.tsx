import type { Application } from "../../api/applications";
import { useWebhook } from "../../api/deliveries";
import { useMay, useSession } from "../../session";
import { useText } from "../../text";
import { ButtonLink } from "../../ui/Button";
import { Copyable } from "../../ui/Copyable";
import { pushAddress } from "./facts";

/** How to push to an application whose repository Windlass keeps. */
export function PushHere({ application }: { application: Application }) {
  const t = useText();
  const { membership } = useSession();
  const mayCreate = useMay("deploy:create");
  // The address at which other machines reach this server is only told with the webhook.
  const { data: webhook } = useWebhook(application.id, useMay("deploy:update"));
  const server = webhook?.url.replace(/\/api\/v1\/webhook$/, "") ?? location.origin;
  const address = pushAddress(server, membership.organization_id, application.id);
  const branch = application.branch || "main";
  return (
    <section class="card stack push-here">
      <h2>{t.pushes.hereTitle}</h2>
      <p>{t.pushes.hereText}</p>
      {mayCreate ? (
        <p>
          <a href={`/applications/${application.id}/upload`}>{t.pushes.orUpload}</a>
        </p>
      ) : (
        <p class="notice">{t.pushes.hereViewer}</p>
      )}
      <ol class="push-steps">
        <li>
          <p>{t.pushes.hereKey}</p>
          {mayCreate && (
            <p>
              <ButtonLink href="/account/keys">{t.pushes.toKeys}</ButtonLink>
            </p>
          )}
        </li>
        <li>
          <p>{t.pushes.hereRemote}</p>
          <Copyable value={`git remote add windlass ${address}`} label={t.pushes.hereRemote} />
        </li>
        <li>
          <p>{t.pushes.herePush}</p>
          <Copyable value={`git push windlass ${branch}`} label={t.pushes.herePush} />
          <p class="hint">{t.pushes.herePassword}</p>
        </li>
      </ol>
      <p class="muted">{application.branch ? t.pushes.hereBranch(application.branch) : t.pushes.hereFirst}</p>
    </section>
  );
}
