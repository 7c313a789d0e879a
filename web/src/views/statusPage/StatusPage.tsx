import { useStatusPage } from "../../api/statusPage";
import { useSession } from "../../session";
import { useText } from "../../text";
import { Loading } from "../../ui/Empty";
import { Problem } from "../../ui/Problem";
import { EditStatusPage } from "./EditStatusPage";
import { Place } from "./Place";
import { ShownStatusPage } from "./ShownStatusPage";
import "./statusPage.css";

/** What the organization shows the public of its applications. */
export default function StatusPage() {
  const t = useText().statusPage;
  const { may } = useSession();
  const { data, error, refetch } = useStatusPage();
  if (error && !data) return <Problem error={error} onAgain={() => void refetch()} />;
  if (!data) return <Loading />;
  // To turn it on, or to give it a domain, takes what a domain takes.
  const mayUpdate = may("organization:update") && may("domain:create");
  return (
    <div class="stack form-page">
      <p class="muted">{t.hint}</p>
      <Place page={data} />
      {mayUpdate ? <EditStatusPage page={data} /> : <ShownStatusPage page={data} />}
    </div>
  );
}
