import { useState } from "preact/hooks";
import type { Application } from "../../api/applications";
import { useCreateSnapshot, useSnapshots, useVolumes, type Volume } from "../../api/volumes";
import { useSession } from "../../session";
import { type Text, useText } from "../../text";
import { Back } from "../../ui/Back";
import { Button } from "../../ui/Button";
import { bytes } from "../../ui/bytes";
import { Loading } from "../../ui/Empty";
import { Facts } from "../../ui/Facts";
import { Problem } from "../../ui/Problem";
import { Time } from "../../ui/Time";
import { tell, useTellProblem } from "../../ui/Toast";
import { DeleteVolume } from "./DeleteVolume";
import { SnapshotTable } from "./SnapshotTable";
import { VolumeDialog } from "./VolumeDialog";
import { schedule } from "./Volumes";

/** One volume and its snapshots. */
export default function VolumePage({ application, name }: { application: Application; name: string }) {
  const t = useText();
  const { may } = useSession();
  const { data, error, refetch } = useVolumes(application.id);
  const [opened, setOpened] = useState<"edit" | "delete" | null>(null);
  const all = <Back href={`/applications/${application.id}/volumes`} label={t.volumes.all} />;
  if (error && !data) return <Problem error={error} onAgain={() => void refetch()} />;
  if (!data) return <Loading />;
  const volume = data.volumes.find((one) => one.name === name && one.deleted_at === null);
  if (!volume) {
    return (
      <>
        {all}
        <p class="notice">{t.volumes.gone(name)}</p>
      </>
    );
  }
  const isOwn = !application.preview_of;
  return (
    <>
      {all}
      <div class="row between">
        <h2>{volume.name}</h2>
        <div class="row">
          {may("deploy:update") && isOwn && <Button onClick={() => setOpened("edit")}>{t.volumes.edit}</Button>}
          {may("deploy:delete") && isOwn && (
            <Button kind="danger" onClick={() => setOpened("delete")}>
              {t.volumes.remove}
            </Button>
          )}
        </div>
      </div>
      <section class="card">
        <Facts rows={facts(t, volume)} />
      </section>
      <Snapshots application={application} volume={volume} />
      {opened === "edit" && <VolumeDialog application={application} volume={volume} onClose={() => setOpened(null)} />}
      {opened === "delete" && (
        <DeleteVolume application={application} volume={volume} onClose={() => setOpened(null)} />
      )}
    </>
  );
}

function facts(t: Text, volume: Volume): Parameters<typeof Facts>[0]["rows"] {
  const { size_bytes, measured_at, last_used_at, next_snapshot_at } = volume;
  return [
    [t.volumes.path, <code key="p">{volume.path}</code>],
    [t.volumes.hostPath, volume.host_path && <code>{volume.host_path}</code>],
    [
      t.volumes.size,
      size_bytes === null ? (
        t.volumes.notMeasured
      ) : (
        <>
          {bytes(size_bytes)}{" "}
          {measured_at && (
            <span class="muted">
              ({t.volumes.measured} <Time at={measured_at} />)
            </span>
          )}
        </>
      ),
    ],
    [t.volumes.writers, volume.shared ? t.volumes.manyWriters : t.volumes.oneWriter],
    [t.volumes.snapshots, schedule(t, volume)],
    [t.volumes.nextSnapshot, next_snapshot_at && <Time at={next_snapshot_at} />],
    [t.volumes.before, volume.before_snapshot && <code>{volume.before_snapshot}</code>],
    [t.volumes.after, volume.after_snapshot && <code>{volume.after_snapshot}</code>],
    [t.volumes.used, last_used_at ? <Time key="u" at={last_used_at} /> : t.common.never],
    [t.application.created, <Time key="c" at={volume.created_at} />],
  ];
}

function Snapshots({ application, volume }: { application: Application; volume: Volume }) {
  const t = useText();
  const { may } = useSession();
  const { data, error, refetch } = useSnapshots(application.id, volume.name);
  const create = useCreateSnapshot(application.id);
  const tellProblem = useTellProblem();
  const isUsed = volume.last_used_at !== null;
  const snapshots = data?.snapshots ?? [];
  return (
    <section class="stack">
      <div class="row between">
        <h2>{t.volumes.snapshots}</h2>
        {may("deploy:update") && isUsed && (
          <Button
            busy={create.isPending}
            title={volume.before_snapshot ? undefined : t.volumes.takeHint}
            onClick={() =>
              create.mutate(volume.name, { onSuccess: () => tell(t.volumes.taking), onError: tellProblem })
            }
          >
            {t.volumes.take}
          </Button>
        )}
      </div>
      {error && !data && <Problem error={error} onAgain={() => void refetch()} />}
      {data && snapshots.length === 0 && <p class="muted">{isUsed ? t.volumes.noSnapshot : t.volumes.unused}</p>}
      {snapshots.length > 0 && <SnapshotTable application={application} snapshots={snapshots} into={volume} />}
    </section>
  );
}
