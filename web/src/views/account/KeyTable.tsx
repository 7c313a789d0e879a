import { useState } from "preact/hooks";
import type { useRevokeApiKey } from "../../api/account";
import type { Schemas } from "../../api/client";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Confirm } from "../../ui/Confirm";
import { type Column, Table } from "../../ui/Table";
import { Time } from "../../ui/Time";

type ApiKey = Schemas["ApiKey"];

interface Props {
  label: string;
  keys: readonly ApiKey[];
  /** Whose they are: a user's keys belong to organizations, and an organization's keys to users. */
  owner: { title: string; name: (key: ApiKey) => string };
  mayRevoke: boolean;
  revoke: Pick<ReturnType<typeof useRevokeApiKey>, "mutate" | "reset" | "isPending" | "error">;
}

const SHOWN_PERMISSIONS = 3;

export function KeyTable({ label, keys, owner, mayRevoke, revoke }: Props) {
  const t = useText();
  const [chosen, setChosen] = useState<ApiKey | null>(null);
  const ask = (key: ApiKey) => {
    // What went wrong with another key is not said of this one.
    revoke.reset();
    setChosen(key);
  };
  const columns: Column<ApiKey>[] = [
    { title: t.account.keyName, isName: true, cell: ({ name }) => name },
    { title: owner.title, cell: owner.name },
    { title: t.account.keyHint, cell: ({ hint }) => <code>{hint}…</code> },
    { title: t.account.keyPermissions, minor: true, cell: ({ permissions }) => <Permissions all={permissions} /> },
    {
      title: t.account.keyUsed,
      cell: ({ last_used_at }) => (last_used_at ? <Time at={last_used_at} /> : t.common.never),
    },
    { title: t.account.keyExpires, cell: ({ expires_at }) => <Time at={expires_at} /> },
    {
      title: t.common.actions,
      hideTitle: true,
      numeric: true,
      cell: (key) =>
        mayRevoke && (
          <span class="row row-actions">
            <Button kind="danger" aria-label={`${t.account.keyRevoke}: ${key.name}`} onClick={() => ask(key)}>
              {t.account.keyRevoke}
            </Button>
          </span>
        ),
    },
  ];
  return (
    <>
      <Table label={label} columns={columns} rows={keys} rowKey={({ id }) => id} />
      {chosen && (
        <Confirm
          title={t.account.keyRevokeTitle(chosen.name)}
          action={t.account.keyRevoke}
          danger
          busy={revoke.isPending}
          error={revoke.error}
          onClose={() => setChosen(null)}
          onConfirm={() => revoke.mutate(chosen.id, { onSuccess: () => setChosen(null) })}
        >
          <p>{t.account.keyRevokeText}</p>
        </Confirm>
      )}
    </>
  );
}

/** The first ones, and how many more there are. */
function Permissions({ all }: { all: readonly string[] }) {
  return (
    <span class="small muted" title={all.join("\n")}>
      {all.slice(0, SHOWN_PERMISSIONS).join(", ")}
      {all.length > SHOWN_PERMISSIONS && ` +${all.length - SHOWN_PERMISSIONS}`}
    </span>
  );
}
