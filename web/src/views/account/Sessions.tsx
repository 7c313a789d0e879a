import { useRevokeSession, useSessions } from "../../api/account";
import type { Schemas } from "../../api/client";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Loading } from "../../ui/Empty";
import { Problem } from "../../ui/Problem";
import { type Column, Table } from "../../ui/Table";
import { Time } from "../../ui/Time";
import { tell, useTellProblem } from "../../ui/Toast";
import { clientName } from "./clientName";

export function Sessions() {
  const t = useText();
  const { data, error, refetch } = useSessions();
  const revoke = useRevokeSession();
  const tellProblem = useTellProblem();
  if (error) return <Problem error={error} onAgain={() => void refetch()} />;
  if (!data) return <Loading />;
  const columns: Column<Schemas["Session"]>[] = [
    {
      title: t.account.sessionClient,
      isName: true,
      cell: ({ user_agent, current }) => (
        <>
          <span title={user_agent}>{clientName(user_agent)}</span>{" "}
          {current && <span class="tag">{t.account.sessionCurrent}</span>}
        </>
      ),
    },
    { title: t.account.sessionAddress, cell: ({ ip_address }) => ip_address },
    { title: t.account.sessionUsed, cell: ({ last_used_at }) => <Time at={last_used_at} /> },
    { title: t.account.sessionExpires, cell: ({ expires_at }) => <Time at={expires_at} /> },
    {
      title: t.common.actions,
      hideTitle: true,
      numeric: true,
      cell: ({ id, current }) =>
        !current && (
          <Button
            busy={revoke.isPending && revoke.variables === id}
            onClick={() => revoke.mutate(id, { onSuccess: () => tell(t.account.sessionEnded), onError: tellProblem })}
          >
            {t.account.sessionEnd}
          </Button>
        ),
    },
  ];
  return (
    <section class="stack">
      <h2>{t.account.sessionsText}</h2>
      <Table label={t.account.sessions} columns={columns} rows={data} rowKey={({ id }) => id} />
    </section>
  );
}
