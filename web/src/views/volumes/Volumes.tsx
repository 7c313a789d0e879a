import { useState } from "preact/hooks";
import type { Application } from "../../api/applications";
import { useVolumes, type Volume } from "../../api/volumes";
import { useMay } from "../../session";
import { type Text, useText } from "../../text";
import { Button } from "../../ui/Button";
import { bytes } from "../../ui/bytes";
import { Empty, Loading } from "../../ui/Empty";
import { PlusIcon } from "../../ui/icons";
import { Problem } from "../../ui/Problem";
import { type Column, Table } from "../../ui/Table";
import { Time } from "../../ui/Time";
import { LeftVolumes } from "./LeftVolumes";
import { OtherSnapshots } from "./OtherSnapshots";
import { VolumeDialog } from "./VolumeDialog";

/** What an application keeps when its containers are replaced. */
export default function Volumes({ application }: { application: Application }) {
  const t = useText();
  const mayUpdate = useMay("deploy:update") && !application.preview_of;
  const { data, error, refetch } = useVolumes(application.id);
  const [adds, setAdds] = useState(false);
  const volumes = data?.volumes.filter(({ deleted_at }) => deleted_at === null) ?? [];
  const add = mayUpdate && (
    <Button kind="primary" onClick={() => setAdds(true)}>
      <PlusIcon />
      {t.volumes.add}
    </Button>
  );
  return (
    <>
      {error && !data && <Problem error={error} onAgain={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data && volumes.length === 0 && (
        <Empty title={t.volumes.emptyTitle}>
          <p>{t.volumes.empty}</p>
          {add}
        </Empty>
      )}
      {volumes.length > 0 && (
        <section class="stack">
          <div class="row between">
            <h2>{t.volumes.title}</h2>
            {add}
          </div>
          <Table label={t.volumes.title} columns={columns(t, application.id)} rows={volumes} rowKey={({ id }) => id} />
        </section>
      )}
      {!application.preview_of && <LeftVolumes application={application} />}
      <OtherSnapshots application={application} />
      {adds && <VolumeDialog application={application} volume={null} onClose={() => setAdds(false)} />}
    </>
  );
}

function columns(t: Text, applicationId: string): Column<Volume>[] {
  return [
    {
      title: t.volumes.name,
      isName: true,
      cell: ({ name, origin, host_path, shared }) => (
        <span class="row">
          <a class="row-link" href={`/applications/${applicationId}/volumes/${name}`}>
            {name}
          </a>
          {shared && <span class="tag">{t.volumes.sharedTag}</span>}
          {host_path && <span class="tag">{t.volumes.hostTag}</span>}
          {origin === "image" && <span class="tag">{t.volumes.imageTag}</span>}
          {origin === "compose" && <span class="tag">{t.volumes.composeTag}</span>}
        </span>
      ),
    },
    { title: t.volumes.path, bare: true, cell: ({ path }) => <code>{path}</code> },
    {
      title: t.volumes.size,
      numeric: true,
      cell: ({ size_bytes }) => (size_bytes === null ? t.volumes.notMeasured : bytes(size_bytes)),
    },
    { title: t.volumes.snapshots, cell: (volume) => schedule(t, volume) },
    {
      title: t.volumes.used,
      minor: true,
      cell: ({ last_used_at }) => (last_used_at ? <Time at={last_used_at} /> : t.common.never),
    },
  ];
}

export const schedule = (t: Text, { snapshot_hours, kept_snapshots }: Volume): string =>
  snapshot_hours === 0 ? t.volumes.byHand : t.volumes.every(snapshot_hours, kept_snapshots);
