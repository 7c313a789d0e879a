import { useState } from "preact/hooks";
import { type Connection, type HostedRepository, useRepositories } from "../../api/connections";
import { useMay } from "../../session";
import { type Text, useText } from "../../text";
import { Button, ButtonLink } from "../../ui/Button";
import { Loading } from "../../ui/Empty";
import { TextField } from "../../ui/Field";
import { Outside } from "../../ui/Outside";
import { Problem } from "../../ui/Problem";
import { useSettled } from "../../ui/settled";
import { type Column, Table } from "../../ui/Table";

const TYPING_MS = 300;

/** What the code host lists for a connection, found by name, more of it when it is asked for. */
export function Repositories({ connection }: { connection: Connection }) {
  const t = useText();
  const mayDeploy = useMay("deploy:create");
  const [search, setSearch] = useState("");
  const settled = useSettled(search.trim(), TYPING_MS);
  const found = useRepositories(connection.id, settled);
  const repositories = found.data?.pages.flatMap((page) => page.repositories) ?? [];
  return (
    <>
      <div class="narrow">
        <TextField type="search" label={t.create.findRepository} value={search} onValue={setSearch} />
      </div>
      {found.error && <Problem error={found.error} onAgain={() => void found.refetch()} />}
      {found.isPending && <Loading />}
      {found.data && repositories.length === 0 && (
        <p class="muted">
          {found.hasNextPage ? t.connections.noneYet : settled ? t.create.noRepositories : t.connections.noRepositories}
        </p>
      )}
      {repositories.length > 0 && (
        <Table
          label={t.connections.repositories}
          columns={columns(t, connection, mayDeploy)}
          rows={repositories}
          rowKey={({ full_name }) => full_name}
        />
      )}
      {found.hasNextPage && (
        <div class="row">
          <Button busy={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
            {t.connections.more}
          </Button>
        </div>
      )}
    </>
  );
}

function columns(t: Text, { id }: Connection, mayDeploy: boolean): Column<HostedRepository>[] {
  return [
    {
      title: t.create.repository,
      isName: true,
      cell: ({ full_name, web_url, is_private }) => (
        <>
          <Outside href={web_url}>{full_name}</Outside> {is_private && <span class="tag">{t.create.private}</span>}
        </>
      ),
    },
    { title: t.connections.defaultBranch, cell: ({ default_branch }) => default_branch },
    {
      title: t.common.actions,
      hideTitle: true,
      numeric: true,
      cell: ({ full_name }) =>
        mayDeploy && (
          <ButtonLink href={`/applications/new?connection=${id}&repository=${encodeURIComponent(full_name)}`}>
            {t.connections.deploy}
          </ButtonLink>
        ),
    },
  ];
}
