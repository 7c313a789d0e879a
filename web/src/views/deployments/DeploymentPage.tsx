import { useState } from "preact/hooks";
import type { Application } from "../../api/applications";
import { type Deployment, isUnderWay, liveOf, stateOf, useCancel, useDeployment } from "../../api/deployments";
import { LogView } from "../../logs/LogView";
import { useMay } from "../../session";
import { type Text, useText } from "../../text";
import { Button } from "../../ui/Button";
import { Loading } from "../../ui/Empty";
import { Facts } from "../../ui/Facts";
import { Problem } from "../../ui/Problem";
import { DeploymentStateBadge } from "../../ui/State";
import { Duration, Time } from "../../ui/Time";
import { tell, useTellProblem } from "../../ui/Toast";
import { duration } from "../../ui/time";
import { author } from "./author";
import { Commit } from "./Commit";
import { Compare } from "./Compare";
import { Failure, LOG_ID } from "./Failure";
import { hasInstances, Instances, servicesOf } from "./Instances";
import { RollBack } from "./RollBack";
import { Steps } from "./Steps";

/** One deployment, watched as it goes on. */
export default function DeploymentPage({ application, id }: { application: Application; id: string }) {
  const t = useText();
  const mayUpdate = useMay("deploy:update");
  const { data: deployment, error, refetch } = useDeployment(id);
  const cancel = useCancel(application.id);
  const tellProblem = useTellProblem();
  const [asksToRollBack, setAsksToRollBack] = useState(false);
  if (error && !deployment) return <Problem error={error} onAgain={() => void refetch()} />;
  if (!deployment) return <Loading />;

  const live = liveOf(application.deployments);
  const underWay = isUnderWay(deployment);
  const canGoBack = deployment.can_roll_back && deployment.release_id !== live?.release_id;
  return (
    <>
      <div class="row between">
        <div class="row">
          <h2>{t.deployments.kind[deployment.kind]}</h2>
          <span role="status">
            <DeploymentStateBadge state={stateOf(deployment)} />
          </span>
          {deployment.id === live?.id && <span class="tag">{t.deployments.live}</span>}
        </div>
        {mayUpdate && underWay && (
          <Button
            kind="danger"
            busy={cancel.isPending}
            onClick={() => cancel.mutate(id, { onSuccess: () => tell(t.deployment.cancelled), onError: tellProblem })}
          >
            {t.deployment.cancel}
          </Button>
        )}
        {mayUpdate && canGoBack && <Button onClick={() => setAsksToRollBack(true)}>{t.deployments.rollBack}</Button>}
      </div>
      {deployment.failure && <Failure deployment={deployment} isServed={live !== undefined} />}
      {stateOf(deployment) === "cancelled" && deployment.reason && <p class="notice">{deployment.reason}</p>}
      <div class="columns">
        <section class="card stack">
          <h2>{t.deployment.steps}</h2>
          <Steps deployment={deployment} />
        </section>
        <section class="card stack">
          <h2>{t.deployment.facts}</h2>
          <Facts rows={facts(t, deployment)} />
        </section>
      </div>
      <Compare application={application} deployment={deployment} />
      <section id={LOG_ID} class="stack">
        <h2>{t.deployment.log}</h2>
        <LogView
          source={{ of: "deployment", id }}
          isLive={underWay || deployment.id === live?.id}
          services={servicesOf(deployment)}
        />
      </section>
      {asksToRollBack && (
        <RollBack application={application} to={deployment} onClose={() => setAsksToRollBack(false)} />
      )}
    </>
  );
}

function facts(t: Text, deployment: Deployment): Parameters<typeof Facts>[0]["rows"] {
  const { started_at, completed_at, held_ms, held_requests } = deployment;
  return [
    [t.deployments.commit, <Commit key="c" of={deployment} />],
    [t.deployment.triggeredBy, author(t, deployment)],
    [t.deployments.started, <Time key="t" at={deployment.created_at} />],
    [t.deployments.duration, started_at && <Duration from={started_at} to={completed_at} />],
    [
      t.deployment.requests,
      stateOf(deployment) === "deployed" &&
        t.deployment.requestsText(deployment.requests_served, deployment.requests_failed),
    ],
    [t.deployment.held, held_ms > 0 && t.deployment.heldText(duration(held_ms), held_requests)],
    [t.application.instances, hasInstances(deployment) && <Instances of={deployment} />],
    [t.deployment.image, deployment.container_image && <code>{deployment.container_image}</code>],
  ];
}
