import { useState } from "preact/hooks";
import { useRename } from "../../api/account";
import { organizationName, useSession } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Facts } from "../../ui/Facts";
import { TextField } from "../../ui/Field";
import { ProblemText, splitProblem } from "../../ui/Problem";
import { tell } from "../../ui/Toast";

export function Profile() {
  const t = useText();
  const { user, memberships } = useSession();
  const rename = useRename();
  const [typed, setTyped] = useState<string | null>(null);
  const name = typed ?? user.username;
  const [problem, rest] = splitProblem(rename.error, ["name"]);
  return (
    <section class="card stack narrow">
      <h2>{t.account.profile}</h2>
      <Facts
        rows={[
          [t.account.email, user.email],
          ...memberships.map(
            (membership) =>
              [
                t.account.role(organizationName(membership)),
                membership.roles.map((role) => t.account.roles[role]).join(", "),
              ] as [string, string],
          ),
        ]}
      />
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          rename.mutate(name, {
            onSuccess: () => {
              setTyped(null);
              tell(t.common.saved);
            },
          });
        }}
      >
        <TextField
          label={t.account.name}
          autocomplete="name"
          required
          value={name}
          onValue={setTyped}
          problem={problem("name")}
        />
        <ProblemText error={rest} />
        <div class="row">
          <Button type="submit" kind="primary" busy={rename.isPending} disabled={name === user.username}>
            {t.common.save}
          </Button>
        </div>
      </form>
    </section>
  );
}
