import { useEffect, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import type { Application } from "../../api/applications";
import { useMay } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import type { Chosen } from "../../uploads/folder";
import { forgetUpload, startUpload, useUpload } from "../../uploads/running";
import { isPushedHere } from "../pushes/facts";
import { ChooseUpload, canBeSent } from "./ChooseUpload";
import { UploadState } from "./UploadState";

/** Deploys a folder of the user's machine, and shows how far it is. */
export default function Upload({ application }: { application: Application }) {
  const t = useText().uploads;
  const mayCreate = useMay("deploy:create");
  if (!isPushedHere(application.repository)) return <p class="notice">{t.otherSource}</p>;
  if (!mayCreate) return <p class="notice">{t.viewer}</p>;
  return <UploadHere application={application} />;
}

function UploadHere({ application: { id } }: { application: Application }) {
  const { route } = useLocation();
  const running = useUpload(id);
  const deployed = running?.state.is === "deployed" ? running.state.deploymentId : null;
  useEffect(() => {
    if (!deployed) return;
    forgetUpload(id);
    route(`/applications/${id}/deployments/${deployed}`);
  }, [deployed]);
  if (!running) return <NewUpload applicationId={id} />;
  return <UploadState running={running} onAgain={() => startUpload(id, running.chosen)} />;
}

function NewUpload({ applicationId }: { applicationId: string }) {
  const t = useText().uploads;
  const [chosen, setChosen] = useState<Chosen | null>(null);
  return (
    <section class="card stack">
      <h2>{t.heading}</h2>
      <p>{t.text}</p>
      <ChooseUpload chosen={chosen} onChosen={setChosen} />
      <div class="row">
        <Button
          kind="primary"
          disabled={!canBeSent(chosen)}
          onClick={() => canBeSent(chosen) && startUpload(applicationId, chosen)}
        >
          {t.upload}
        </Button>
      </div>
      <p class="muted small">{t.onlyCommit}</p>
    </section>
  );
}
