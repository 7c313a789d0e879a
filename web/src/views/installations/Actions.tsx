import { useState } from "preact/hooks";
import { type Installation, isBusy } from "../../api/installations";
import { useMay } from "../../session";
import { useText } from "../../text";
import { Button, ButtonLink } from "../../ui/Button";
import { canRollBack } from "./history";
import { RollBack } from "./RollBack";
import { useExecutionsOf } from "./useExecutionsOf";

export function Actions({ installation, isAtUpdate }: { installation: Installation; isAtUpdate: boolean }) {
  const t = useText().installations;
  const mayRun = useMay("extension:run");
  const { executions = [] } = useExecutionsOf(installation);
  const [asks, setAsks] = useState(false);
  if (!mayRun || isBusy(installation)) return null;
  return (
    <>
      {canRollBack(installation, executions) && <Button onClick={() => setAsks(true)}>{t.rollBack}…</Button>}
      {installation.has_update && !isAtUpdate && (
        <ButtonLink kind="primary" href={`/extensions/installations/${installation.id}/update`}>
          {t.update}…
        </ButtonLink>
      )}
      {asks && <RollBack installation={installation} executions={executions} onClose={() => setAsks(false)} />}
    </>
  );
}
