import { useState } from "preact/hooks";
import { useSaveWebhook, type WebhookConfig, type WebhookType } from "../../api/notifications";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { CheckField, TextField } from "../../ui/Field";
import { splitProblem } from "../../ui/Problem";
import { tell } from "../../ui/Toast";
import { maskedUrl } from "./masked";

interface Props {
  type: WebhookType;
  stored: WebhookConfig | null;
  onClose: () => void;
}

/** The stored address is never put into the form: what is typed takes its place, and nothing typed keeps it. */
export function EditWebhook({ type, stored, onClose }: Props) {
  const t = useText();
  const save = useSaveWebhook();
  const [url, setUrl] = useState("");
  const [isActive, setActive] = useState(stored?.is_active ?? true);
  const [problem, rest] = splitProblem(save.error, ["webhook_url"]);
  const name = t.notifications.kind[type];
  return (
    <Confirm
      title={stored ? t.notifications.changeAt(name) : t.notifications.setUpAt(name)}
      action={t.common.save}
      busy={save.isPending}
      error={rest}
      onClose={onClose}
      onConfirm={() =>
        save.mutate(
          { type, is_active: isActive, ...(url.trim() && { webhook_url: url.trim() }) },
          {
            onSuccess: () => {
              tell(t.common.saved);
              onClose();
            },
          },
        )
      }
    >
      <TextField
        label={t.notifications.url}
        hint={stored ? `${t.notifications.urlKept} ${t.notifications.kindHint[type]}` : t.notifications.kindHint[type]}
        type="url"
        autocomplete="off"
        required={!stored}
        placeholder={stored ? maskedUrl(stored.webhook_url) : "https://"}
        value={url}
        onValue={setUrl}
        problem={problem("webhook_url")}
      />
      <CheckField label={t.notifications.active} checked={isActive} onChecked={setActive} />
    </Confirm>
  );
}
