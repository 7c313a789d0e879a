import { useLocation } from "preact-iso";
import type { Application } from "../../api/applications";
import { type Delivery, useDelivery, useReplay } from "../../api/deliveries";
import { useMay } from "../../session";
import { type Text, useText } from "../../text";
import { Back } from "../../ui/Back";
import { Button } from "../../ui/Button";
import { Copy } from "../../ui/Copy";
import { Loading } from "../../ui/Empty";
import { Evidence } from "../../ui/Evidence";
import { Facts } from "../../ui/Facts";
import { Problem } from "../../ui/Problem";
import { Time } from "../../ui/Time";
import { tell, useTellProblem } from "../../ui/Toast";
import { HOSTS } from "../connections/hosts";
import { VerdictBadge, What } from "./Deliveries";
import { readable } from "./facts";
import "./pushes.css";

/** One delivery, with what was sent. */
export default function DeliveryPage({ application, id }: { application: Application; id: string }) {
  const t = useText();
  const { route } = useLocation();
  const mayOpen = useMay("deploy:update");
  const { data: delivery, error, refetch } = useDelivery(id, mayOpen);
  const replay = useReplay(application.id);
  const tellProblem = useTellProblem();
  const at = `/applications/${application.id}`;
  if (!mayOpen) return <p class="notice">{t.pushes.deliveryViewer}</p>;
  if (error && !delivery) return <Problem error={error} onAgain={() => void refetch()} />;
  if (!delivery) return <Loading />;
  const isRefused = delivery.verdict === "refused";
  return (
    <>
      <Back href={`${at}/pushes`} label={t.pushes.allDeliveries} />
      <div class="row between">
        <div class="row">
          <h2>{delivery.event || t.pushes.unknownEvent}</h2>
          <VerdictBadge of={delivery.verdict} />
        </div>
        {delivery.body !== "" && (
          <Button
            busy={replay.isPending}
            title={t.pushes.replayHint}
            onClick={() =>
              replay.mutate(id, {
                onError: tellProblem,
                onSuccess: (again) => {
                  tell(t.pushes.replayDone);
                  route(`${at}/pushes/${again.id}`);
                },
              })
            }
          >
            {t.pushes.replay}
          </Button>
        )}
      </div>
      {delivery.reason && <p class={`notice ${isRefused ? "bad" : ""}`}>{delivery.reason}</p>}
      <div class="columns">
        <section class="card stack">
          <h2>{t.deployment.facts}</h2>
          <Facts rows={facts(t, delivery, at)} />
        </section>
        <section class="card stack">
          <h2>{t.pushes.headers}</h2>
          {Object.keys(delivery.headers).length === 0 && <p class="muted">{t.pushes.noHeaders}</p>}
          <Facts
            rows={Object.entries(delivery.headers).map(([name, value]) => [name, <code key="v">{String(value)}</code>])}
          />
        </section>
      </div>
      <section class="stack">
        <div class="row between">
          <h2>{t.pushes.body}</h2>
          {delivery.body && <Copy value={delivery.body} label={t.common.copy} />}
        </div>
        {delivery.body ? (
          <Evidence label={t.pushes.body} text={readable(delivery.body)} long />
        ) : (
          <p class="muted">{isRefused ? t.pushes.noBody : t.pushes.bodyTooLong}</p>
        )}
      </section>
    </>
  );
}

function facts(t: Text, delivery: Delivery, at: string): Parameters<typeof Facts>[0]["rows"] {
  const { deployment_id, replay_of } = delivery;
  return [
    [t.connections.host, HOSTS[delivery.host]],
    [t.pushes.reference, delivery.reference && <What key="w" of={delivery} />],
    [t.pushes.sender, delivery.sender],
    [t.pushes.arrived, <Time key="t" at={delivery.created_at} />],
    [t.account.sessionAddress, delivery.ip_address],
    [t.pushes.hostsId, delivery.delivery_id && <code>{delivery.delivery_id}</code>],
    [t.pushes.deployment, deployment_id && <a href={`${at}/deployments/${deployment_id}`}>{t.pushes.toDeployment}</a>],
    [t.pushes.replayOf, replay_of && <a href={`${at}/pushes/${replay_of}`}>{t.pushes.firstDelivery}</a>],
  ];
}
