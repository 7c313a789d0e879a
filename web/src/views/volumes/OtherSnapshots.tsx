import type { Application } from "../../api/applications";
import { useAllSnapshots } from "../../api/volumes";
import { useText } from "../../text";
import { SnapshotTable } from "./SnapshotTable";

/** Snapshots outlive their volume and their application, and any of them can be restored into a volume of this one. */
export function OtherSnapshots({ application }: { application: Application }) {
  const t = useText();
  const { data } = useAllSnapshots(application.id);
  const own = new Set(application.volumes.map(({ id }) => id));
  const others = data?.snapshots.filter(({ volume_id }) => !own.has(volume_id)) ?? [];
  if (others.length === 0) return null;
  return (
    <details class="others">
      <summary>{t.volumes.others(others.length)}</summary>
      <div class="stack">
        <p class="muted">{t.volumes.othersText}</p>
        <SnapshotTable application={application} snapshots={others} />
      </div>
    </details>
  );
}
