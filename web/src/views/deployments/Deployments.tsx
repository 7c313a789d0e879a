import { useState } from "preact/hooks";
import type { Application } from "../../api/applications";
import { useDeployments } from "../../api/deployments";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Loading } from "../../ui/Empty";
import { Pages } from "../../ui/Pages";
import { Problem } from "../../ui/Problem";
import { CompareTwo } from "./Compare";
import { DeploymentTable } from "./DeploymentTable";

export default function Deployments({ application }: { application: Application }) {
  const t = useText();
  const [page, setPage] = useState(1);
  const [compares, setCompares] = useState(false);
  const { data, error, refetch } = useDeployments(application.id, page);
  if (error && !data) return <Problem error={error} onAgain={() => void refetch()} />;
  if (!data) return <Loading />;
  return (
    <>
      {data.deployments.length > 1 && (
        <div class="row">
          <Button aria-expanded={compares} onClick={() => setCompares(!compares)}>
            {t.deployments.compareTwo}
          </Button>
        </div>
      )}
      {compares && <CompareTwo key={page} application={application} deployments={data.deployments} />}
      <DeploymentTable application={application} deployments={data.deployments} />
      <Pages of={data.pagination} onPage={setPage} />
    </>
  );
}
