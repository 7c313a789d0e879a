import { useState } from "preact/hooks";
import { useRoute } from "preact-iso";
import { useApplications } from "../../api/applications";
import { type Connection, useConnection } from "../../api/connections";
import { useSession } from "../../session";
import { useText } from "../../text";
import { Back } from "../../ui/Back";
import { Button } from "../../ui/Button";
import { Loading } from "../../ui/Empty";
import { Facts } from "../../ui/Facts";
import { Outside } from "../../ui/Outside";
import { Page } from "../../ui/Page";
import { Problem } from "../../ui/Problem";
import { Time } from "../../ui/Time";
import { DeleteConnection } from "./DeleteConnection";
import { EditConnection } from "./EditConnection";
import { HOSTS } from "./hosts";
import { Repositories } from "./Repositories";
import "./connections.css";

/** One connection: what it is, what it reaches, and which applications use it. */
export default function ConnectionPage() {
  const t = useText();
  const { params } = useRoute();
  const id = params.id ?? "";
  const { may } = useSession();
  const { data: connection, error, refetch } = useConnection(id);
  const [opened, setOpened] = useState<"edit" | "delete" | null>(null);
  if (error && !connection) {
    return (
      <Page title={t.connections.title}>
        <Problem error={error} onAgain={() => void refetch()} />
      </Page>
    );
  }
  if (!connection) return <Loading />;
  const heading = (
    <div>
      <Back href="/connections" label={t.connections.all} />
      <h1>{connection.name}</h1>
    </div>
  );
  const actions = (
    <>
      {may("connection:update") && <Button onClick={() => setOpened("edit")}>{t.connections.edit}</Button>}
      {may("connection:delete") && (
        <Button kind="danger" onClick={() => setOpened("delete")}>
          {t.connections.remove}
        </Button>
      )}
    </>
  );
  return (
    <Page key={id} title={connection.name} heading={heading} actions={actions}>
      <div class="columns">
        <section class="card stack">
          <h2>{t.connections.facts}</h2>
          <About connection={connection} />
        </section>
        <Users id={id} />
      </div>
      <section class="stack">
        <h2>{t.connections.repositories}</h2>
        {may("connection:update") ? (
          <Repositories connection={connection} />
        ) : (
          <p class="notice">{t.connections.repositoriesViewer}</p>
        )}
      </section>
      {opened === "edit" && <EditConnection connection={connection} onClose={() => setOpened(null)} />}
      {opened === "delete" && <DeleteConnection connection={connection} onClose={() => setOpened(null)} />}
    </Page>
  );
}

function About({ connection }: { connection: Connection }) {
  const t = useText();
  const { host, base_url, kind, account, workspace, username, install_url, created_at, updated_at } = connection;
  return (
    <Facts
      rows={[
        [t.connections.host, HOSTS[host]],
        [t.connections.baseUrl, <Outside key="a" href={base_url} children={base_url} />],
        [t.connections.kind, t.connections.kinds[kind]],
        [t.connections.account, account],
        [t.connections.workspace, workspace],
        [t.connections.username, username],
        [
          t.connections.installed,
          install_url && <Outside key="i" href={install_url} children={t.connections.install} />,
        ],
        [t.connections.created, <Time key="c" at={created_at} />],
        [t.connections.changed, updated_at !== created_at && <Time key="u" at={updated_at} />],
      ]}
    />
  );
}

/** The API has no list of them: they are found among the applications, where all of those are on one page. */
function Users({ id }: { id: string }) {
  const t = useText();
  const { data } = useApplications({});
  if (!data || data.pagination.has_next) return null;
  const users = data.applications.filter(({ connection_id }) => connection_id === id);
  return (
    <section class="card stack">
      <h2>{t.connections.usedBy}</h2>
      {users.length === 0 && <p class="muted">{t.connections.unused}</p>}
      {users.length > 0 && (
        <ul class="row">
          {users.map((application) => (
            <li key={application.id}>
              <a class="tag" href={`/applications/${application.id}`}>
                {application.name}
              </a>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
