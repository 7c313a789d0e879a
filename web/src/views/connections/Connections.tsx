import { type Connection, useConnections } from "../../api/connections";
import { useMay } from "../../session";
import { type Text, useText } from "../../text";
import { ButtonLink } from "../../ui/Button";
import { Empty, Loading } from "../../ui/Empty";
import { PlusIcon } from "../../ui/icons";
import { Page } from "../../ui/Page";
import { Problem } from "../../ui/Problem";
import { type Column, Table } from "../../ui/Table";
import { Time } from "../../ui/Time";
import { HOSTS } from "./hosts";

/** The code hosts that the organization is connected to. */
export default function Connections() {
  const t = useText();
  const mayCreate = useMay("connection:create");
  const { data, error, refetch } = useConnections();
  const connections = data?.connections ?? [];
  const create = mayCreate && (
    <ButtonLink kind="primary" href="/connections/new">
      <PlusIcon />
      {t.connections.create}
    </ButtonLink>
  );
  return (
    <Page title={t.connections.title} actions={connections.length > 0 && create}>
      {error && <Problem error={error} onAgain={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data && connections.length === 0 && (
        <Empty title={t.connections.emptyTitle}>
          <p>{t.connections.empty}</p>
          {create || <p>{t.connections.emptyViewer}</p>}
          <p class="small">{t.connections.emptyWithout}</p>
        </Empty>
      )}
      {connections.length > 0 && (
        <Table label={t.connections.title} columns={columns(t)} rows={connections} rowKey={({ id }) => id} />
      )}
      <p>
        <a href="/registries">{t.registries.title}</a>
      </p>
    </Page>
  );
}

function columns(t: Text): Column<Connection>[] {
  return [
    {
      title: t.connections.name,
      isName: true,
      cell: ({ id, name }) => (
        <a class="row-link" href={`/connections/${id}`}>
          {name}
        </a>
      ),
    },
    {
      title: t.connections.host,
      bare: true,
      cell: ({ host, base_url }) => (
        <>
          {HOSTS[host]} <span class="muted break">{base_url.replace(/^https?:\/\//, "")}</span>
        </>
      ),
    },
    { title: t.connections.kind, cell: ({ kind }) => t.connections.kinds[kind] },
    { title: t.connections.account, cell: ({ account }) => account },
    { title: t.connections.created, minor: true, cell: ({ created_at }) => <Time at={created_at} /> },
  ];
}
