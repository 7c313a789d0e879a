import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { type InstanceUser, useInstanceUsers } from "../../api/instance";
import { useSession } from "../../session";
import { type Text, useText } from "../../text";
import { Button } from "../../ui/Button";
import { Empty, Loading } from "../../ui/Empty";
import { FilterSearch, Filters } from "../../ui/Filter";
import { filterAddress, readPage } from "../../ui/filter";
import { Pages } from "../../ui/Pages";
import { Person } from "../../ui/Person";
import { Problem } from "../../ui/Problem";
import { type Column, Table } from "../../ui/Table";
import { Time } from "../../ui/Time";
import { ResetLink } from "./ResetLink";

export function Users() {
  const t = useText();
  const { query, route } = useLocation();
  const { user: me } = useSession();
  const search = query.search ?? "";
  const { page = 1 } = readPage(query);
  const { data, error, refetch } = useInstanceUsers(search, page);
  const [chosen, setChosen] = useState<InstanceUser | null>(null);
  const show = (typed: string, at: number, replace: boolean) =>
    route(filterAddress("/instance/users", { search: typed, page: at }), replace);
  return (
    <>
      <Filters>
        <FilterSearch label={t.instance.searchUsers} value={search} onValue={(typed) => show(typed, 1, true)} />
      </Filters>
      {error && <Problem error={error} onAgain={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data?.users.length === 0 && <Empty title={t.instance.noUsers} />}
      {data && data.users.length > 0 && (
        <>
          <Table
            label={t.instance.users}
            columns={columns(t, me.id, setChosen)}
            rows={data.users}
            rowKey={({ id }) => id}
          />
          <div class="row between">
            <p class="muted">{t.instance.count(data.pagination.total_count)}</p>
            <Pages of={data.pagination} onPage={(at) => show(search, at, false)} />
          </div>
        </>
      )}
      {chosen && <ResetLink user={chosen} onClose={() => setChosen(null)} />}
    </>
  );
}

function columns(t: Text, myId: string, onReset: (user: InstanceUser) => void): Column<InstanceUser>[] {
  return [
    {
      title: t.instance.user,
      isName: true,
      cell: ({ id, username, email, type }) => (
        <Person name={username} email={email}>
          {type === "admin" && <span class="tag">{t.instance.admin}</span>}{" "}
          {id === myId && <span class="tag">{t.organization.you}</span>}
        </Person>
      ),
    },
    {
      title: t.organization.secondFactor,
      cell: ({ two_factor_enabled }) => (two_factor_enabled ? t.organization.on : t.organization.off),
    },
    { title: t.instance.organizations, numeric: true, cell: ({ organizations }) => organizations },
    { title: t.organization.since, cell: ({ created_at }) => <Time at={created_at} /> },
    {
      title: t.common.actions,
      hideTitle: true,
      numeric: true,
      // Admins change their own password in their account.
      cell: (user) =>
        user.id !== myId && (
          <span class="row row-actions">
            <Button aria-label={t.instance.resetAt(user.username)} onClick={() => onReset(user)}>
              {t.instance.reset}
            </Button>
          </span>
        ),
    },
  ];
}
