import type { Application } from "../../api/applications";
import { type Deployment, liveOf } from "../../api/deployments";
import { type Text, useText } from "../../text";
import { Facts } from "../../ui/Facts";
import { Time } from "../../ui/Time";
import { repositoryName } from "../applications/facts";
import { EXTENSION, IMAGE, PUSHED } from "../applications/newApplication";
import { Commit } from "../deployments/Commit";
import { DeploymentTable } from "../deployments/DeploymentTable";
import { hasInstances, Instances } from "../deployments/Instances";
import { CrashLoop } from "./CrashLoop";
import { Pending } from "./Pending";
import { Requests } from "./Requests";

const RECENT = 5;

type Rows = Parameters<typeof Facts>[0]["rows"];

export function Overview({ application }: { application: Application }) {
  const t = useText();
  const live = liveOf(application.deployments);
  return (
    <>
      <CrashLoop of={application} />
      <Pending application={application} />
      {application.preview_of && (
        <p class="notice">
          <span class="row between">
            {t.application.previewOf}
            <a href={`/applications/${application.preview_of}/previews`}>{t.previews.toApplication}</a>
          </span>
        </p>
      )}
      <div class="columns">
        <section class="card stack">
          <h2>{t.application.live}</h2>
          {live ? <Facts rows={liveRows(t, live)} /> : <p class="muted">{t.application.notLive}</p>}
        </section>
        <section class="card stack">
          <h2>{t.application.source}</h2>
          <Facts
            rows={[
              ...sourceRows(t, application),
              [t.applications.environment, application.environment],
              [t.application.labels, application.labels.length > 0 && <Labels labels={application.labels} />],
              [t.application.created, <Time key="t" at={application.created_at} />],
            ]}
          />
        </section>
      </div>
      <Requests applicationId={application.id} />
      <section class="stack">
        <div class="row between">
          <h2>{t.application.recent}</h2>
          {application.deployments.length > RECENT && (
            <a href={`/applications/${application.id}/deployments`}>{t.application.allDeployments}</a>
          )}
        </div>
        <DeploymentTable application={application} deployments={application.deployments.slice(0, RECENT)} />
      </section>
    </>
  );
}

/** An image of a registry has neither a repository nor a branch. */
function sourceRows(t: Text, { id, repository, branch, settings, triggers }: Application): Rows {
  if (repository === IMAGE) {
    const { image } = settings;
    return [
      [
        t.create.image,
        <code key="i" class="break">
          {image}
        </code>,
      ],
      [t.settings.field.auto_update[0], triggers.auto_update ? t.common.yes : t.common.no],
    ];
  }
  if (repository === EXTENSION) {
    const link = <a href={`/applications/${id}/extension`}>{t.extensionApplication.look}</a>;
    return [[t.extensionApplication.source, link]];
  }
  return [
    [t.create.repository, <Repository key="r" address={repository} />],
    [t.applications.branch, branch || t.applications.defaultBranch],
  ];
}

function liveRows(t: Text, live: Deployment): Rows {
  return [
    [t.application.commit, <Commit key="c" of={live} />],
    [t.application.since, <Time key="t" at={live.completed_at ?? live.updated_at} />],
    [t.application.instances, hasInstances(live) && <Instances of={live} />],
  ];
}

function Labels({ labels }: { labels: string[] }) {
  return (
    <span class="row">
      {labels.map((label) => (
        <a key={label} class="tag" href={`/applications?label=${encodeURIComponent(label)}`}>
          {label}
        </a>
      ))}
    </span>
  );
}

/** A link only where a browser can follow it: never an address of another kind. */
function Repository({ address }: { address: string }) {
  const t = useText();
  if (address === PUSHED) return <>{t.create.ways.push}</>;
  const name = repositoryName(address);
  if (!/^https?:\/\//.test(address)) return <>{name}</>;
  return (
    <a href={address} target="_blank" rel="noreferrer">
      {name}
    </a>
  );
}
