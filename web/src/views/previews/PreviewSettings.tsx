import { useState } from "preact/hooks";
import type { Application } from "../../api/applications";
import { useSession } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Facts } from "../../ui/Facts";
import { readVariables } from "../variables/changes";
import { EditPreviewVariables } from "./EditPreviewVariables";

/** What previews get beside what their application has. */
export function PreviewSettings({ application }: { application: Application }) {
  const t = useText();
  const { may } = useSession();
  const mayUpdate = may("deploy:update") && may("variable:read");
  const [edits, setEdits] = useState(false);
  const names = Object.keys(readVariables(application.preview_variables)).sort();
  const secrets = application.preview_secret_names;
  return (
    <section class="card stack">
      <div class="row between">
        <h2>{t.previews.get}</h2>
        {mayUpdate && <Button onClick={() => setEdits(true)}>{t.previews.edit}</Button>}
      </div>
      <Facts
        rows={[
          [t.previews.variables, names.length > 0 ? <Names of={names} /> : t.previews.sameVariables],
          [t.previews.secrets, secrets.length > 0 ? <Names of={secrets} /> : t.previews.noSecrets],
          [t.previews.forks, application.triggers.preview_forks ? t.previews.forksYes : t.previews.forksNo],
        ]}
      />
      <p class="muted small">
        {t.previews.settingsHint} <a href={`/applications/${application.id}/settings`}>{t.deployment.toSettings}</a>
      </p>
      {edits && <EditPreviewVariables application={application} onClose={() => setEdits(false)} />}
    </section>
  );
}

function Names({ of }: { of: readonly string[] }) {
  return (
    <span class="row">
      {of.map((name) => (
        <code key={name} class="tag">
          {name}
        </code>
      ))}
    </span>
  );
}
