import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import type { Application } from "../../api/applications";
import { type Snapshot, useRestore, type Volume } from "../../api/volumes";
import { useText } from "../../text";
import { bytes } from "../../ui/bytes";
import { Confirm } from "../../ui/Confirm";
import { Facts } from "../../ui/Facts";
import { SelectField } from "../../ui/Field";
import { Time } from "../../ui/Time";

interface Props {
  application: Application;
  snapshot: Snapshot;
  /** Absent where the user chooses among the application's volumes. */
  into: Volume | undefined;
  onClose: () => void;
}

/** Says what happens to visitors and to what the volume holds now. */
export function RestoreSnapshot({ application, snapshot, into, onClose }: Props) {
  const t = useText();
  const { route } = useLocation();
  // Nothing is restored into a folder of the machine.
  const volumes = application.volumes.filter(({ host_path }) => host_path === "");
  const [chosen, setChosen] = useState(into?.name ?? volumes[0]?.name ?? "");
  const restore = useRestore(application.id, chosen);
  return (
    <Confirm
      title={t.volumes.restoreTitle}
      action={t.volumes.restore}
      danger
      busy={restore.isPending}
      error={restore.error}
      onClose={onClose}
      onConfirm={() =>
        restore.mutate(snapshot.id, {
          onSuccess: ({ id }) => {
            onClose();
            route(`/applications/${application.id}/deployments/${id}`);
          },
        })
      }
    >
      <Facts
        rows={[
          [t.volumes.taken, <Time key="t" at={snapshot.created_at} />],
          [t.volumes.of, `${snapshot.application_name} / ${snapshot.volume_name}`],
          [t.volumes.size, bytes(snapshot.size_bytes)],
        ]}
      />
      {!into && (
        <SelectField
          label={t.volumes.into}
          value={chosen}
          onValue={setChosen}
          options={volumes.map(({ name, path }) => [name, `${name} (${path})`])}
        />
      )}
      <ul class="bullets">
        {t.volumes.restoreText.map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
    </Confirm>
  );
}
