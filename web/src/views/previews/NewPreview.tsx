import { useState } from "preact/hooks";
import type { Application } from "../../api/applications";
import { useDeployPreview } from "../../api/previews";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { TextField } from "../../ui/Field";
import { splitProblem } from "../../ui/Problem";
import { tell } from "../../ui/Toast";

const FIELDS = ["pull_request", "branch", "title"];

/** Without a code host's report; of a branch of the application's own repository. */
export function NewPreview({ application, onClose }: { application: Application; onClose: () => void }) {
  const t = useText();
  const deploy = useDeployPreview(application.id);
  const [number, setNumber] = useState("");
  const [branch, setBranch] = useState("");
  const [title, setTitle] = useState("");
  const [problem, rest] = splitProblem(deploy.error, FIELDS);
  return (
    <Confirm
      title={t.previews.create}
      action={t.create.submit}
      busy={deploy.isPending}
      error={rest}
      onClose={onClose}
      onConfirm={() =>
        deploy.mutate(
          { pull_request: Number(number), branch: branch.trim(), ...(title.trim() ? { title: title.trim() } : {}) },
          {
            onSuccess: () => {
              tell(t.previews.queued);
              onClose();
            },
          },
        )
      }
    >
      <p>{t.previews.createText}</p>
      <TextField
        label={t.previews.number}
        hint={t.previews.numberHint}
        required
        inputMode="numeric"
        pattern="[0-9]+"
        autocomplete="off"
        value={number}
        onValue={setNumber}
        problem={problem("pull_request")}
      />
      <TextField
        label={t.applications.branch}
        hint={t.previews.branchHint}
        required
        autocomplete="off"
        value={branch}
        onValue={setBranch}
        problem={problem("branch")}
      />
      <TextField
        label={t.previews.titleField}
        optional
        autocomplete="off"
        value={title}
        onValue={setTitle}
        problem={problem("title")}
      />
    </Confirm>
  );
}
