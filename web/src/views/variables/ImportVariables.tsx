import { useState } from "preact/hooks";
import type { Application } from "../../api/applications";
import { useImportVariables } from "../../api/variables";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { AreaField, CheckField, TextField } from "../../ui/Field";
import { ProblemText } from "../../ui/Problem";
import { tell } from "../../ui/Toast";
import { kindInPath, type VariableKind } from "./kinds";

interface Props {
  application: Application;
  kind: VariableKind;
  onClose: () => void;
}

/** A file of variables, read by the server; either all of it is taken or nothing. */
export function ImportVariables({ application, kind, onClose }: Props) {
  const t = useText();
  const [text, setText] = useState("");
  const [secrets, setSecrets] = useState("");
  const [replaces, setReplaces] = useState(false);
  const importing = useImportVariables(application.id);
  const secret_names = secrets.split(/[\s,]+/).filter(Boolean);
  const run = () =>
    importing.mutate(
      { kind: kindInPath(kind), text, mode: replaces ? "replace" : "merge", secret_names: [...new Set(secret_names)] },
      {
        onSuccess: ({ added, changed, removed }) => {
          tell(`${t.variables.imported(added.length, changed.length, removed.length)} ${t.variables.acts}`);
          onClose();
        },
      },
    );
  return (
    <Dialog title={t.variables.importTitle} onClose={onClose} wide>
      <label class="field">
        {t.variables.file}
        <input
          type="file"
          onChange={async (event) => {
            const file = event.currentTarget.files?.[0];
            if (file) setText(await file.text());
          }}
        />
      </label>
      <AreaField
        label={kind === "environment_variables" ? t.variables.run : t.variables.build}
        hint={t.variables.importHint}
        rows={12}
        value={text}
        onValue={setText}
      />
      <TextField
        label={t.variables.importSecrets}
        hint={t.variables.importSecretsHint}
        optional
        value={secrets}
        onValue={setSecrets}
      />
      <CheckField label={t.variables.replace} checked={replaces} onChecked={setReplaces} />
      <ProblemText error={importing.error} />
      <div class="dialog-actions">
        <Button onClick={onClose}>{t.common.cancel}</Button>
        <Button kind="primary" busy={importing.isPending} disabled={text === ""} onClick={run}>
          {t.variables.import}
        </Button>
      </div>
    </Dialog>
  );
}
