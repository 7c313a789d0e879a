import { useState } from "preact/hooks";
import type { Application } from "../../api/applications";
import { downloadSnapshot, type Snapshot, type Volume } from "../../api/volumes";
import { useSession } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { bytes } from "../../ui/bytes";
import { MoreIcon } from "../../ui/icons";
import { Menu } from "../../ui/Menu";
import { type Column, Table } from "../../ui/Table";
import { Time } from "../../ui/Time";
import { useTellProblem } from "../../ui/Toast";
import { DeleteSnapshot } from "./DeleteSnapshot";
import { RestoreSnapshot } from "./RestoreSnapshot";

const TONES: Readonly<Record<Snapshot["state"], string>> = {
  pending: "busy",
  ready: "good",
  failed: "bad",
  deleted: "",
};

interface Props {
  application: Application;
  snapshots: readonly Snapshot[];
  /** The volume that they are restored into; absent where the user chooses it. */
  into?: Volume;
}

export function SnapshotTable({ application, snapshots, into }: Props) {
  const t = useText();
  const { may } = useSession();
  const tellProblem = useTellProblem();
  const [opened, setOpened] = useState<{ what: "restore" | "delete"; snapshot: Snapshot } | null>(null);
  // Nothing is restored into a folder of the machine.
  const mayRestore =
    may("deploy:update") &&
    !application.preview_of &&
    (into ? [into] : application.volumes).some(({ host_path }) => host_path === "");
  const columns: Column<Snapshot>[] = [
    { title: t.volumes.taken, isName: true, cell: ({ created_at }) => <Time at={created_at} /> },
    ...(into ? [] : [ownerColumn(t.volumes.of)]),
    {
      title: t.applications.state,
      bare: true,
      cell: ({ state, reason }) => (
        <>
          <span class={`state ${TONES[state]}`}>{t.volumes.states[state]}</span>{" "}
          {reason && <span class="muted">{reason}</span>}
        </>
      ),
    },
    { title: t.volumes.for, bare: true, cell: (snapshot) => <Origin of={snapshot} /> },
    {
      title: t.volumes.size,
      numeric: true,
      cell: ({ state, size_bytes }) => state === "ready" && bytes(size_bytes),
    },
    {
      title: t.volumes.checksum,
      minor: true,
      cell: ({ sha256 }) => sha256 && <code title={sha256}>{sha256.slice(0, 12)}…</code>,
    },
    {
      title: t.common.actions,
      hideTitle: true,
      numeric: true,
      cell: (snapshot) => (
        <span class="row row-actions">
          {mayRestore && snapshot.state === "ready" && (
            <Button onClick={() => setOpened({ what: "restore", snapshot })}>{t.volumes.restore}</Button>
          )}
          <More
            snapshot={snapshot}
            onDownload={() => void downloadSnapshot(snapshot).catch(tellProblem)}
            onDelete={() => setOpened({ what: "delete", snapshot })}
          />
        </span>
      ),
    },
  ];
  return (
    <>
      <Table label={t.volumes.snapshots} columns={columns} rows={snapshots} rowKey={({ id }) => id} />
      {opened?.what === "restore" && (
        <RestoreSnapshot
          application={application}
          snapshot={opened.snapshot}
          into={into}
          onClose={() => setOpened(null)}
        />
      )}
      {opened?.what === "delete" && (
        <DeleteSnapshot application={application} snapshot={opened.snapshot} onClose={() => setOpened(null)} />
      )}
    </>
  );
}

const ownerColumn = (title: string): Column<Snapshot> => ({
  title,
  cell: ({ application_name, volume_name }) => `${application_name} / ${volume_name}`,
});

function Origin({ of }: { of: Snapshot }) {
  const t = useText();
  const { origin, deployment_id, application_id } = of;
  if (origin !== "deployment" || !deployment_id || !application_id) return <>{t.volumes.origins[origin]}</>;
  return <a href={`/applications/${application_id}/deployments/${deployment_id}`}>{t.volumes.origins[origin]}</a>;
}

interface MoreProps {
  snapshot: Snapshot;
  onDownload: () => void;
  onDelete: () => void;
}

function More({ snapshot, onDownload, onDelete }: MoreProps) {
  const t = useText();
  const { may } = useSession();
  const mayDownload = may("deploy:update") && snapshot.state === "ready";
  const mayDelete = may("deploy:delete") && (snapshot.state === "ready" || snapshot.state === "failed");
  if (!mayDownload && !mayDelete) return null;
  return (
    <Menu kind="plain" class="icon-only" label={t.common.actions} shown={<MoreIcon />}>
      {mayDownload && (
        <button type="button" onClick={onDownload}>
          {t.volumes.download}
        </button>
      )}
      {mayDelete && (
        <button type="button" class="danger" onClick={onDelete}>
          {t.volumes.remove}
        </button>
      )}
    </Menu>
  );
}
