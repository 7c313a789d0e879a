import { useState } from "preact/hooks";
import { lazy } from "preact-iso";
import { rememberOrganization } from "../../session/organization";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { describe } from "../../ui/Problem";
import { Frame } from "./Frame";

export function Unreachable({ error, onAgain }: { error: Error; onAgain: () => void }) {
  const t = useText();
  return (
    <Frame title={t.shell.unreachable}>
      <p role="alert">{describe(error, t).message}</p>
      <Button onClick={onAgain}>{t.common.again}</Button>
    </Frame>
  );
}

const NewOrganization = lazy(() => import("../organization/NewOrganization"));

/** For a user who has left the last organization, or was removed from it. */
export function Homeless({ onEnd }: { onEnd: () => Promise<void> }) {
  const t = useText();
  const [creates, setCreates] = useState(false);
  return (
    <Frame title={t.shell.homeless}>
      <p>{t.shell.homelessHint}</p>
      <Button kind="primary" onClick={() => setCreates(true)}>
        {t.organization.create}
      </Button>
      <Button onClick={() => void onEnd()}>{t.shell.logOut}</Button>
      {creates && <NewOrganization onClose={() => setCreates(false)} onCreated={rememberOrganization} />}
    </Frame>
  );
}
