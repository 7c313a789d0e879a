import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Application } from "../../api/applications";
import { useConnection } from "../../api/connections";
import { useRegisterWebhook, useWebhook } from "../../api/deliveries";
import { useMay } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Copyable } from "../../ui/Copyable";
import { Loading } from "../../ui/Empty";
import { Problem } from "../../ui/Problem";
import { Time } from "../../ui/Time";
import { tell, useTellProblem } from "../../ui/Toast";
import { ByHand } from "./ByHand";
import { isOnlyNear } from "./facts";
import { RotateSecret } from "./RotateSecret";

/** Where code hosts report pushes to, and what they sign them with. */
export function Webhook({ application }: { application: Application }) {
  const t = useText();
  const mayUpdate = useMay("deploy:update");
  const { data: webhook, error, refetch } = useWebhook(application.id, mayUpdate);
  const [rotates, setRotates] = useState(false);
  return (
    <section class="card stack">
      <h2>{t.pushes.webhook}</h2>
      {!mayUpdate && <p class="muted">{t.pushes.webhookViewer}</p>}
      {error && !webhook && <Problem error={error} onAgain={() => void refetch()} />}
      {mayUpdate && !webhook && !error && <Loading />}
      {webhook && (
        <>
          {!webhook.auto_deploy && (
            <p class="notice warn">
              {t.pushes.switchedOff} <a href={`/applications/${application.id}/settings`}>{t.deployment.toSettings}</a>
            </p>
          )}
          <div class="labelled">
            <span>{t.pushes.address}</span>
            <Copyable value={webhook.url} label={t.pushes.address} />
            {isOnlyNear(webhook.url) && <span class="hint">{t.pushes.onlyNear}</span>}
          </div>
          <div class="labelled">
            <span>{t.pushes.secret}</span>
            <Copyable value={webhook.secret} label={t.pushes.secret} secret />
            {webhook.previous_secret_until && (
              <span class="hint">
                {t.pushes.previousUntil} <Time at={webhook.previous_secret_until} />
              </span>
            )}
          </div>
          <Registration application={application} isRegistered={webhook.is_registered}>
            <Button onClick={() => setRotates(true)}>{t.pushes.rotate}</Button>
          </Registration>
          <ByHand />
          {rotates && (
            <RotateSecret
              application={application}
              isRegistered={webhook.is_registered}
              onClose={() => setRotates(false)}
            />
          )}
        </>
      )}
    </section>
  );
}

interface RegistrationProps {
  application: Application;
  isRegistered: boolean;
  /** What else can be done with the webhook. */
  children: ComponentChildren;
}

/** With a connection, Windlass sets up the webhook at the code host by itself. */
function Registration(props: RegistrationProps) {
  const t = useText();
  const { application, children } = props;
  if (application.connection_id) return <ThroughConnection {...props} id={application.connection_id} />;
  return (
    <>
      <p class="muted">
        {t.pushes.noConnection} <a href={`/applications/${application.id}/settings`}>{t.deployment.toSettings}</a>
      </p>
      <div class="row">{children}</div>
    </>
  );
}

function ThroughConnection({ application, id, isRegistered, children }: RegistrationProps & { id: string }) {
  const t = useText();
  const { data: connection } = useConnection(id);
  const register = useRegisterWebhook(application.id);
  const tellProblem = useTellProblem();
  if (!connection) return <div class="row">{children}</div>;
  const link = <a href={`/connections/${id}`}>{connection.name}</a>;
  if (connection.kind === "github_app") {
    return (
      <>
        <p>
          {t.pushes.byApp} {link}
        </p>
        <div class="row">{children}</div>
      </>
    );
  }
  const run = (wanted: boolean) =>
    register.mutate(wanted, {
      onError: tellProblem,
      onSuccess: () => tell(wanted ? t.pushes.registered : t.pushes.unregistered),
    });
  return (
    <div class="stack tight">
      <p>
        <span class={`state ${isRegistered ? "good" : ""}`}>
          {isRegistered ? t.pushes.isRegistered : t.pushes.isNotRegistered}
        </span>{" "}
        <span class="muted">
          {t.pushes.through} {link}
        </span>
      </p>
      <div class="row">
        <Button
          kind={isRegistered ? "plain" : "primary"}
          busy={register.isPending && register.variables}
          title={isRegistered ? t.pushes.registerAgainHint : undefined}
          onClick={() => run(true)}
        >
          {isRegistered ? t.pushes.registerAgain : t.pushes.register}
        </Button>
        {isRegistered && (
          <Button busy={register.isPending && !register.variables} onClick={() => run(false)}>
            {t.pushes.unregister}
          </Button>
        )}
        {children}
      </div>
    </div>
  );
}
