import { useState } from "preact/hooks";
import type { Application } from "../../api/applications";
import { type Deployment, stateOf, useComparison } from "../../api/deployments";
import { useText } from "../../text";
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
  const name = (other: Deployment) =>
    [t.deployments.kind[other.kind], shortCommit(other.commit_hash), exact(Date.parse(other.created_at), t.language)]
      .filter(Boolean)
      .join(" · ");
  return (
    <section class="card stack">
      <div class="row between">
        <h2>{t.deployments.changes}</h2>
        <SelectField
          label={t.deployments.compareWith}
          value={withId}
          options={[
            ...(before ? [] : [["", "–"] as const]),
            ...others.map((other) => [other.id, name(other)] as const),
          ]}
          onValue={setChosen}
        />
      </div>
      {withId && <Compared id={deployment.id} withId={withId} />}
    </section>
  );
}

function Compared({ id, withId }: { id: string; withId: string }) {
  const { data, error } = useComparison(id, withId);
  if (error) return <ProblemText error={error} />;
  return data ? <Changes changes={data.changes} /> : <Loading />;
}
