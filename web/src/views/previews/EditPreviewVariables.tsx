import { useState } from "preact/hooks";
import { type Application, useUpdateApplication } from "../../api/applications";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { AreaField, CheckList } from "../../ui/Field";
import { splitProblem } from "../../ui/Problem";
import { tell } from "../../ui/Toast";
import { readVariables } from "../variables/changes";
import { format, parse } from "../variables/dotenv";
import { LineProblems } from "../variables/LineProblems";

const FIELDS = ["preview_variables"];

/** Variables of previews, and which secrets of the application they get. */
export function EditPreviewVariables({ application, onClose }: { application: Application; onClose: () => void }) {
  const t = useText();
  const update = useUpdateApplication();
  const [begun] = useState(application.preview_variables);
  const [text, setText] = useState(() => format(readVariables(begun)));
  const [secrets, setSecrets] = useState<readonly string[]>(application.preview_secret_names);
  const parsed = parse(text);
  const [problem, rest] = splitProblem(update.error, FIELDS);
  return (
    <Confirm
      title={t.previews.editTitle}
      action={t.common.save}
      busy={update.isPending}
      error={rest}
      onClose={onClose}
      onConfirm={() => {
        if (parsed.problems.length > 0) return;
        update.mutate(
          { id: application.id, preview_variables: parsed.variables, preview_secret_names: [...secrets] },
          {
            onSuccess: () => {
              tell(`${t.common.saved} ${t.previews.acts}`);
              onClose();
            },
          },
        );
      }}
    >
      {begun !== application.preview_variables && <p class="notice warn">{t.variables.changedMeanwhile}</p>}
      <AreaField
        label={t.previews.variables}
        hint={t.previews.variablesHint}
        rows={8}
        value={text}
        onValue={setText}
        problem={problem("preview_variables")}
      />
      <LineProblems problems={parsed.problems} />
      {application.secret_names.length > 0 && (
        <fieldset class="stack">
          <legend>{t.previews.secretsField}</legend>
          <p class="hint">{t.previews.secretsHint}</p>
          <CheckList
            options={application.secret_names.map((name) => [name, name])}
            chosen={secrets}
            onChosen={setSecrets}
          />
        </fieldset>
      )}
    </Confirm>
  );
}
