import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { type Application, type ApplicationAction, useApplicationAction } from "../../api/applications";
import { liveOf } from "../../api/deployments";
import { useMay } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Confirm } from "../../ui/Confirm";
import { MoreIcon } from "../../ui/icons";
import { Menu } from "../../ui/Menu";
import { tell, useTellProblem } from "../../ui/Toast";
import { stateOfApplication } from "../applications/facts";

export function Actions({ application }: { application: Application }) {
  const t = useText();
  const { route } = useLocation();
  const mayUpdate = useMay("deploy:update");
  const action = useApplicationAction(application.id);
  const tellProblem = useTellProblem();
  const [asksToStop, setAsksToStop] = useState(false);
  if (!mayUpdate) return null;

  const run = (name: ApplicationAction) =>
    action.mutate(name, {
      onError: tellProblem,
      onSuccess: (deploymentId) => {
        setAsksToStop(false);
        if (deploymentId) route(`/applications/${application.id}/deployments/${deploymentId}`);
        else tell(t.application.stopped);
      },
    });
  const isStopped = stateOfApplication(application) === "stopped";
  const isLive = liveOf(application.deployments) !== undefined;
  const busyWith = action.isPending ? action.variables : null;

  return (
    <>
      {isStopped && isLive && (
        <Button busy={busyWith === "start"} onClick={() => run("start")}>
          {t.application.start}
        </Button>
      )}
      <Button
        kind="primary"
        busy={busyWith === "redeploy"}
        title={t.application.redeployHint}
        onClick={() => run("redeploy")}
      >
        {t.application.redeploy}
      </Button>
      {isLive && !isStopped && (
        <Menu kind="plain" class="icon-only" label={t.common.actions} shown={<MoreIcon />}>
          <button type="button" onClick={() => run("restart")}>
            {t.application.restart}
          </button>
          <button type="button" onClick={() => setAsksToStop(true)}>
            {t.application.stop}
          </button>
        </Menu>
      )}
      {asksToStop && (
        <Confirm
          title={t.application.stopTitle(application.name)}
          action={t.application.stop}
          danger
          busy={action.isPending}
          error={action.error}
          onConfirm={() => run("stop")}
          onClose={() => setAsksToStop(false)}
        >
          <p>{t.application.stopText}</p>
        </Confirm>
      )}
    </>
  );
}
