import { useState } from "preact/hooks";
import type { Application } from "../../api/applications";
import { type Uptime as Told, useUptime } from "../../api/uptime";
import { useMay } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Empty, Loading } from "../../ui/Empty";
import { Problem } from "../../ui/Problem";
import { Availability } from "./Availability";
import { Checks } from "./Checks";
import { EditUptime } from "./EditUptime";
import { isSetUp } from "./facts";
import { Outages } from "./Outages";
import { State } from "./State";
import "./uptime.css";

/** Whether visitors of the application get an answer, asked again and again. */
export default function Uptime({ application }: { application: Application }) {
  const { data, error, refetch } = useUptime(application.id);
  if (error && !data) return <Problem error={error} onAgain={() => void refetch()} />;
  if (!data) return <Loading />;
  if (!isSetUp(data)) return <None uptime={data} />;
  return (
    <>
      <div class="columns">
        <State uptime={data} />
        <Availability uptime={data} />
      </div>
      <Checks uptime={data} />
      <Outages uptime={data} />
    </>
  );
}

function None({ uptime }: { uptime: Told }) {
  const t = useText().uptime;
  const mayUpdate = useMay("deploy:update");
  const [asks, setAsks] = useState(false);
  return (
    <>
      <Empty title={t.noneTitle}>
        <p>{t.none}</p>
        {mayUpdate ? (
          <Button kind="primary" onClick={() => setAsks(true)}>
            {t.setUp}
          </Button>
        ) : (
          <p>{t.mayNot}</p>
        )}
      </Empty>
      {asks && <EditUptime uptime={uptime} isNew onClose={() => setAsks(false)} />}
    </>
  );
}
