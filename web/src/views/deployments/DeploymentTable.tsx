import { useState } from "preact/hooks";
import type { Application } from "../../api/applications";
import { type Deployment, liveOf, stateOf } from "../../api/deployments";
import { useMay } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { DeploymentStateBadge } from "../../ui/State";
import { type Column, Table } from "../../ui/Table";
import { Duration, Time } from "../../ui/Time";
import { author } from "./author";
import { Commit } from "./Commit";
import { RollBack } from "./RollBack";

interface Props {
  application: Application;
  deployments: readonly Deployment[];
}

export function DeploymentTable({ application, deployments }: Props) {
  const t = useText();
  const mayUpdate = useMay("deploy:update");
  const [target, setTarget] = useState<Deployment | null>(null);
  const live = liveOf(application.deployments);
  if (deployments.length === 0) return <p class="muted">{t.deployments.none}</p>;

  const columns: Column<Deployment>[] = [
    {
      title: t.deployments.what,
      isName: true,
      cell: (deployment) => (
        <span class="row nowrap">
          <a class="row-link" href={`/applications/${application.id}/deployments/${deployment.id}`}>
            {t.deployments.kind[deployment.kind]}
          </a>
          {deployment.id === live?.id && <span class="tag">{t.deployments.live}</span>}
        </span>
      ),
    },
    {
      title: t.deployments.state,
      bare: true,
      cell: (deployment) => <DeploymentStateBadge state={stateOf(deployment)} />,
    },
    { title: t.deployments.commit, bare: true, cell: (deployment) => <Commit of={deployment} /> },
    {
      title: t.deployments.by,
      minor: true,
      cell: (deployment) => <span class="break">{author(t, deployment)}</span>,
    },
    { title: t.deployments.started, bare: true, cell: ({ created_at }) => <Time at={created_at} /> },
    {
      title: t.deployments.duration,
      numeric: true,
      cell: ({ started_at, completed_at }) => started_at && <Duration from={started_at} to={completed_at} />,
    },
    {
      title: t.deployments.lost,
      numeric: true,
      minor: true,
      cell: (deployment) => stateOf(deployment) === "deployed" && deployment.requests_failed,
    },
    {
      title: t.common.actions,
      hideTitle: true,
      numeric: true,
      cell: (deployment) =>
        mayUpdate &&
        deployment.can_roll_back &&
        deployment.release_id !== live?.release_id && (
          <Button onClick={() => setTarget(deployment)}>{t.deployments.rollBack}</Button>
        ),
    },
  ];
  return (
    <>
      <Table label={t.deployments.title} columns={columns} rows={deployments} rowKey={({ id }) => id} />
      {target && <RollBack application={application} to={target} onClose={() => setTarget(null)} />}
    </>
  );
}
