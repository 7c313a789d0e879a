import { useState } from "preact/hooks";
import { type Permission, useCreateApiKey } from "../../api/account";
import { useSession } from "../../session";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { CheckList, TextField } from "../../ui/Field";
import { splitProblem } from "../../ui/Problem";
import "./account.css";

const USUAL: readonly Permission[] = ["deploy:read", "deploy:create", "deploy:update"];
const FIELDS = ["name", "expires_in_days"];

/** For the current organization, with at most what the user may do in it. */
export function CreateApiKey({ onClose, onMade }: { onClose: () => void; onMade: (key: string) => void }) {
  const t = useText();
  const { membership, organizationName } = useSession();
  const create = useCreateApiKey();
  const [name, setName] = useState("");
  const [days, setDays] = useState("90");
  const [chosen, setChosen] = useState<readonly Permission[]>(
    membership.permissions.filter((permission) => USUAL.includes(permission)),
  );
  const [problem, rest] = splitProblem(create.error, FIELDS);
  return (
    <Confirm
      title={`${t.account.keyCreate}: ${organizationName}`}
      action={t.account.keyCreate}
      busy={create.isPending}
      error={rest}
      onClose={onClose}
      onConfirm={() =>
        create.mutate(
          {
            name,
            organization_id: membership.organization_id,
            permissions: [...chosen],
            expires_in_days: Number(days),
          },
          { onSuccess: ({ key }) => onMade(key) },
        )
      }
    >
      <TextField
        label={t.account.keyName}
        hint={t.account.keyNameHint}
        required
        autocomplete="off"
        value={name}
        onValue={setName}
        problem={problem("name")}
      />
      <TextField
        label={t.account.keyDays}
        type="number"
        min={1}
        max={365}
        required
        value={days}
        onValue={setDays}
        problem={problem("expires_in_days")}
      />
      <fieldset class="stack">
        <legend>{t.account.keyPermissions}</legend>
        <div class="permissions">
          <CheckList
            options={membership.permissions.map((permission) => [permission, permission])}
            chosen={chosen}
            onChosen={setChosen}
          />
        </div>
      </fieldset>
    </Confirm>
  );
}
