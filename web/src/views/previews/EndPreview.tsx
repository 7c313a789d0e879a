import type { Application } from "../../api/applications";
import { type Preview, useEndPreview } from "../../api/previews";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { tell } from "../../ui/Toast";

interface Props {
  application: Application;
  preview: Preview;
  onClose: () => void;
}

export function EndPreview({ application, preview, onClose }: Props) {
  const t = useText();
  const end = useEndPreview(application.id);
  return (
    <Confirm
      title={t.previews.endTitle(preview.pull_request)}
      action={t.previews.end}
      danger
      busy={end.isPending}
      error={end.error}
      onClose={onClose}
      onConfirm={() =>
        end.mutate(preview.id, {
          onSuccess: () => {
            tell(t.previews.ended(preview.pull_request));
            onClose();
          },
        })
      }
    >
      <p>{t.previews.endText}</p>
    </Confirm>
  );
}
