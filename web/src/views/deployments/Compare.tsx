import { useState } from "preact/hooks";
import type { Application } from "../../api/applications";
import { type Deployment, stateOf, useComparison } from "../../api/deployments";
import { type Text, useText } from "../../text";
import { Loading } from "../../ui/Empty";
import { SelectField } from "../../ui/Field";
import { ProblemText } from "../../ui/Problem";
import { exact } from "../../ui/time";
import { shortCommit } from "../applications/facts";
import { Changes } from "./Changes";

/** What a deployment has changed, against another one of the application. */
export function Compare({ application, deployment }: { application: Application; deployment: Deployment }) {
  const t = useText();
  const others = application.deployments.filter(({ id }) => id !== deployment.id);
  const before = others.find((other) => other.created_at < deployment.created_at && stateOf(other) === "deployed");
  const [chosen, setChosen] = useState("");
  const withId = chosen || (before?.id ?? "");
  if (others.length === 0) return null;
  return (
    <section class="card stack">
      <div class="row between">
        <h2>{t.deployments.changes}</h2>
        <SelectField
          label={t.deployments.compareWith}
          value={withId}
          options={[
            ...(before ? [] : [["", "–"] as const]),
            ...others.map((other) => [other.id, nameOf(t, other)] as const),
          ]}
          onValue={setChosen}
        />
      </div>
      {withId && <Compared application={application} from={withId} to={deployment.id} />}
    </section>
  );
}

/** For a list to choose from. */
function nameOf(t: Text, { kind, commit_hash, created_at }: Deployment): string {
  const parts = [t.deployments.kind[kind], shortCommit(commit_hash), exact(Date.parse(created_at), t.language)];
  return parts.filter(Boolean).join(" · ");
}

/** What any two of some deployments differ in: first what the newest one has changed. */
export function CompareTwo({
  application,
  deployments,
}: {
  application: Application;
  deployments: readonly Deployment[];
}) {
  const t = useText();
  const [from, setFrom] = useState(deployments[1]?.id ?? "");
  const [to, setTo] = useState(deployments[0]?.id ?? "");
  const options = deployments.map((one) => [one.id, nameOf(t, one)] as const);
  return (
    <section class="card stack">
      <h2>{t.deployments.changes}</h2>
      <div class="row">
        <SelectField label={t.deployments.compareFrom} value={from} options={options} onValue={setFrom} />
        <SelectField label={t.deployments.compareTo} value={to} options={options} onValue={setTo} />
      </div>
      <Compared application={application} from={from} to={to} />
    </section>
  );
}

function Compared({ application, from, to }: { application: Application; from: string; to: string }) {
  const { data, error } = useComparison(application.id, from, to);
  if (error) return <ProblemText error={error} />;
  return data ? <Changes changes={data.changes} /> : <Loading />;
}
