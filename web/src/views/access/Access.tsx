import { useAccess } from "../../api/access";
import type { Application } from "../../api/applications";
import { useMay } from "../../session";
import { useText } from "../../text";
import { Loading } from "../../ui/Empty";
import { Problem } from "../../ui/Problem";
import { ErrorPages } from "./ErrorPages";
import { Headers } from "./Headers";
import { Limits } from "./Limits";
import { Maintenance } from "./Maintenance";
import { Networks } from "./Networks";
import { SignIn } from "./SignIn";

/** What visitors meet before the application: who comes in, and how. */
export default function Access({ application }: { application: Application }) {
  const t = useText();
  const mayUpdate = useMay("deploy:update");
  const { data, error, refetch } = useAccess(application);
  if (error && !data) return <Problem error={error} onAgain={() => void refetch()} />;
  if (!data) return <Loading />;
  const group = { application, access: data, readOnly: !mayUpdate || application.preview_of !== null };
  return (
    <>
      <p class="muted">{t.access.text}</p>
      <WhyReadOnly application={application} mayUpdate={mayUpdate} />
      <Networks {...group} />
      <SignIn {...group} />
      <Limits {...group} />
      <Maintenance {...group} />
      <Headers {...group} />
      <ErrorPages {...group} />
    </>
  );
}

function WhyReadOnly({ application, mayUpdate }: { application: Application; mayUpdate: boolean }) {
  const t = useText();
  if (application.preview_of) {
    return (
      <div class="notice">
        <div class="row between">
          <p>{t.access.ofPreview}</p>
          <a href={`/applications/${application.preview_of}/access`}>{t.previews.toApplication}</a>
        </div>
      </div>
    );
  }
  return mayUpdate ? null : <p class="notice">{t.settings.readOnly}</p>;
}
