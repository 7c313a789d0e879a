import { useState } from "preact/hooks";
import type { Application } from "../../api/applications";
import { useAllVolumes, useDiscardVolume, type Volume } from "../../api/volumes";
import { useSession } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { bytes } from "../../ui/bytes";
import { Confirm } from "../../ui/Confirm";
import { type Column, Table } from "../../ui/Table";
import { Time } from "../../ui/Time";
import { AttachVolume } from "./AttachVolume";

/** Deleted and not removed yet, or without an application since theirs was deleted. */
export function isLeft({ deleted_at, application_id, installation_id }: Volume): boolean {
  return deleted_at !== null || (application_id === null && installation_id === null);
}

/** What can be brought back, to this application or to another one. */
export function LeftVolumes({ application }: { application: Application }) {
  const t = useText();
  const { may } = useSession();
  const { data } = useAllVolumes(application.id);
  const discard = useDiscardVolume(application.id);
  const [opened, setOpened] = useState<{ what: "attach" | "discard"; volume: Volume } | null>(null);
  const left = data?.volumes.filter(isLeft) ?? [];
  if (left.length === 0) return null;
  const columns: Column<Volume>[] = [
    { title: t.volumes.name, isName: true, cell: ({ name }) => name },
    { title: t.volumes.of, cell: ({ application_name }) => application_name },
    { title: t.volumes.path, bare: true, cell: ({ path }) => <code>{path}</code> },
    {
      title: t.volumes.size,
      numeric: true,
      cell: ({ size_bytes }) => (size_bytes === null ? t.volumes.notMeasured : bytes(size_bytes)),
    },
    {
      title: t.volumes.removedAfter,
      cell: ({ removed_after }) => (removed_after ? <Time at={removed_after} /> : t.volumes.stays),
    },
    {
      title: t.common.actions,
      hideTitle: true,
      numeric: true,
      cell: (volume) => (
        <span class="row row-actions">
          {may("deploy:update") && (
            <Button onClick={() => setOpened({ what: "attach", volume })}>{t.volumes.attach}</Button>
          )}
          {may("deploy:delete") && volume.deleted_at === null && (
            <Button kind="danger" onClick={() => setOpened({ what: "discard", volume })}>
              {t.volumes.remove}
            </Button>
          )}
        </span>
      ),
    },
  ];
  return (
    <section class="stack">
      <h2>{t.volumes.left}</h2>
      <p class="muted">{t.volumes.leftText}</p>
      <Table label={t.volumes.left} columns={columns} rows={left} rowKey={({ id }) => id} />
      {opened?.what === "attach" && (
        <AttachVolume application={application} volume={opened.volume} onClose={() => setOpened(null)} />
      )}
      {opened?.what === "discard" && (
        <Confirm
          title={t.volumes.removeTitle(opened.volume.name)}
          action={t.volumes.remove}
          danger
          busy={discard.isPending}
          error={discard.error}
          onClose={() => setOpened(null)}
          onConfirm={() => discard.mutate(opened.volume.id, { onSuccess: () => setOpened(null) })}
        >
          <p>{t.volumes.removeText}</p>
        </Confirm>
      )}
    </section>
  );
}
