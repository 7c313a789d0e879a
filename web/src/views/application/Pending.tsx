import { useLocation } from "preact-iso";
import { type Application, useApplicationAction } from "../../api/applications";
import { useMay } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { useTellProblem } from "../../ui/Toast";
import { fieldLabel } from "../settings/fields";

/** What was saved and does not act yet. */
export function Pending({ application }: { application: Application }) {
  const t = useText();
  const { route } = useLocation();
  const mayUpdate = useMay("deploy:update");
  const action = useApplicationAction(application.id);
  const tellProblem = useTellProblem();
  if (application.pending_fields.length === 0) return null;
  return (
    <div class="notice warn row between">
      <p>{t.application.pending(application.pending_fields.map((name) => fieldLabel(t, name)).join(", "))}</p>
      {mayUpdate && (
        <Button
          busy={action.isPending}
          onClick={() =>
            action.mutate("redeploy", {
              onError: tellProblem,
              onSuccess: (id) => id && route(`/applications/${application.id}/deployments/${id}`),
            })
          }
        >
          {t.application.pendingDeploy}
        </Button>
      )}
    </div>
  );
}
