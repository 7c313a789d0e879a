import { useState } from "preact/hooks";
import { type Installation, useInstallations } from "../../api/installations";
import { type Text, useText } from "../../text";
import { ButtonLink } from "../../ui/Button";
import { Empty, Loading } from "../../ui/Empty";
import { Page } from "../../ui/Page";
import { Pages } from "../../ui/Pages";
import { Problem } from "../../ui/Problem";
import { type Column, Table } from "../../ui/Table";
import { Time } from "../../ui/Time";
import { ListTabs } from "../extensions/ListTabs";
import { InstallationStateBadge } from "../extensions/State";
import { Domains } from "./Domains";

export function Installations() {
  const t = useText();
  const [page, setPage] = useState(1);
  const { data, error, refetch } = useInstallations(page);
  return (
    <Page title={t.installations.title} heading={<h1>{t.extensions.title}</h1>}>
      <ListTabs current="installed" />
      {error && !data && <Problem error={error} onAgain={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data?.installations.length === 0 && (
        <Empty title={t.installations.none}>
          <p>{t.installations.noneHint}</p>
          <ButtonLink kind="primary" href="/extensions">
            {t.installations.toCatalog}
          </ButtonLink>
        </Empty>
      )}
      {data && data.installations.length > 0 && (
        <>
          <Table label={t.installations.title} columns={columns(t)} rows={data.installations} rowKey={({ id }) => id} />
          <Pages of={data.pagination} onPage={setPage} />
        </>
      )}
    </Page>
  );
}

function columns(t: Text): Column<Installation>[] {
  return [
    {
      title: t.installations.name,
      isName: true,
      cell: (installation) => (
        <span class="row">
          <a class="row-link" href={`/extensions/installations/${installation.id}`}>
            {installation.name}
          </a>
          {installation.has_update && <span class="tag warn">{t.extensions.updateThere}</span>}
        </span>
      ),
    },
    { title: t.installations.state, bare: true, cell: ({ state }) => <InstallationStateBadge state={state} /> },
    {
      title: t.installations.extension,
      bare: true,
      cell: ({ extension_key, version }) => `${extension_key} ${version}`,
    },
    { title: t.installations.services, minor: true, cell: (installation) => servicesText(t, installation) },
    { title: t.installations.domains, bare: true, cell: ({ domains }) => <Domains of={domains} /> },
    { title: t.installations.changed, cell: ({ updated_at }) => <Time at={updated_at} /> },
  ];
}

function servicesText(t: Text, { services }: Installation): string {
  if (services.length === 0) return "";
  const running = services.filter(({ status }) => status === "running").length;
  return t.installations.servicesOf(running, services.length);
}
