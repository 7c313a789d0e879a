import { useState } from "preact/hooks";
import type { Application } from "../../api/applications";
import { useDeployments } from "../../api/deployments";
import { Loading } from "../../ui/Empty";
import { Pages } from "../../ui/Pages";
import { Problem } from "../../ui/Problem";
import { DeploymentTable } from "./DeploymentTable";

export default function Deployments({ application }: { application: Application }) {
  const [page, setPage] = useState(1);
  const { data, error, refetch } = useDeployments(application.id, page);
  if (error && !data) return <Problem error={error} onAgain={() => void refetch()} />;
  if (!data) return <Loading />;
  return (
    <>
      <DeploymentTable application={application} deployments={data.deployments} />
      <Pages of={data.pagination} onPage={setPage} />
    </>
  );
}
