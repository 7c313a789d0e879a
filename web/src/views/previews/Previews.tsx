import { useState } from "preact/hooks";
import { type Application, useUpdateApplication } from "../../api/applications";
import { type Preview, usePreviews } from "../../api/previews";
import { useMay } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Empty, Loading } from "../../ui/Empty";
import { Problem } from "../../ui/Problem";
import { useTellProblem } from "../../ui/Toast";
import { isPushedHere } from "../pushes/facts";
import { EndPreview } from "./EndPreview";
import { NewPreview } from "./NewPreview";
import { PreviewSettings } from "./PreviewSettings";
import { PreviewTable } from "./PreviewTable";

/** The applications that pull requests have got, and what they get. */
export default function Previews({ application }: { application: Application }) {
  const t = useText();
  const mayCreate = useMay("deploy:create");
  const { data, error, refetch } = usePreviews(application.id);
  const [opened, setOpened] = useState<"new" | Preview | null>(null);
  if (isPushedHere(application.repository)) return <p class="notice">{t.previews.notPushed}</p>;
  const previews = data?.previews ?? [];
  const create = mayCreate && <Button onClick={() => setOpened("new")}>{t.previews.create}</Button>;
  return (
    <>
      <Switch application={application} />
      <section class="stack">
        {previews.length > 0 && (
          <div class="row between">
            <h2>{t.previews.title}</h2>
            {create}
          </div>
        )}
        {error && !data && <Problem error={error} onAgain={() => void refetch()} />}
        {!data && !error && <Loading />}
        {data && previews.length === 0 && (
          <Empty title={t.previews.emptyTitle}>
            <p>{application.triggers.previews ? t.previews.empty : t.previews.emptyOff}</p>
            {create}
          </Empty>
        )}
        {previews.length > 0 && (
          <PreviewTable application={application} previews={previews} onEnd={(preview) => setOpened(preview)} />
        )}
      </section>
      <PreviewSettings application={application} />
      {opened === "new" && <NewPreview application={application} onClose={() => setOpened(null)} />}
      {opened && opened !== "new" && (
        <EndPreview application={application} preview={opened} onClose={() => setOpened(null)} />
      )}
    </>
  );
}

/** Off by default, and then the reason why there are none. */
function Switch({ application }: { application: Application }) {
  const t = useText();
  const mayUpdate = useMay("deploy:update");
  const update = useUpdateApplication();
  const tellProblem = useTellProblem();
  if (application.triggers.previews) return null;
  return (
    <div class="notice">
      <div class="row between">
        <p>{t.previews.off}</p>
        {mayUpdate && (
          <Button
            busy={update.isPending}
            onClick={() => update.mutate({ id: application.id, previews: true }, { onError: tellProblem })}
          >
            {t.previews.switchOn}
          </Button>
        )}
      </div>
    </div>
  );
}
