import { useLocation } from "preact-iso";
import { type Application, useApplicationAction } from "../../api/applications";
import { type DeployPlan as Plan, useDeployPlan } from "../../api/deployPlans";
import { useMay } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Loading } from "../../ui/Empty";
import { Facts } from "../../ui/Facts";
import { Problem } from "../../ui/Problem";
import { useTellProblem } from "../../ui/Toast";
import { shortCommit } from "../applications/facts";
import { Changes } from "../deployments/Changes";

/** What the next deploy would change, and whether visitors wait, before it is begun. */
export default function DeployPlan({ application }: { application: Application }) {
  const { data: plan, error, refetch } = useDeployPlan(application.id);
  if (error && !plan) return <Problem error={error} onAgain={() => void refetch()} />;
  return plan ? <Shown application={application} plan={plan} /> : <Loading />;
}

function Shown({ application, plan }: { application: Application; plan: Plan }) {
  const t = useText();
  const { route } = useLocation();
  const mayUpdate = useMay("deploy:update");
  const action = useApplicationAction(application.id);
  const tellProblem = useTellProblem();
  const deploy = () =>
    action.mutate("redeploy", {
      onError: tellProblem,
      onSuccess: (id) => id && route(`/applications/${application.id}/deployments/${id}`),
    });
  return (
    <>
      <section class="card stack">
        <div class="row between">
          <h2>{t.deployPlan.heading}</h2>
          {mayUpdate && (
            <Button busy={action.isPending} onClick={deploy}>
              {t.deployPlan.deploy}
            </Button>
          )}
        </div>
        <p>{t.deployPlan.effect[plan.effect]}</p>
        <p class={plan.is_gapless === "yes" ? undefined : "notice warn"}>
          {t.deployPlan.gapless[plan.is_gapless]} {plan.gap}
        </p>
        {plan.commit_problem && <p class="notice warn break">{plan.commit_problem}</p>}
        <Facts
          rows={[
            [t.deployPlan.live, plan.commit_hash && <code key="live">{shortCommit(plan.commit_hash)}</code>],
            [
              t.deployPlan.newest,
              plan.newest_commit_hash && <code key="newest">{shortCommit(plan.newest_commit_hash)}</code>,
            ],
          ]}
        />
        <p class="muted">{t.deployPlan.hint}</p>
      </section>
      {plan.release_id && (
        <section class="card stack">
          <h2>{t.deployments.changes}</h2>
          <Changes changes={plan.changes} />
        </section>
      )}
    </>
  );
}
