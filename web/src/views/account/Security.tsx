import { useState } from "preact/hooks";
import { useChangePassword } from "../../api/account";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { TextField } from "../../ui/Field";
import { ProblemText, splitProblem } from "../../ui/Problem";
import { tell } from "../../ui/Toast";
import { ChangeEmail } from "./ChangeEmail";
import { SecondFactor } from "./SecondFactor";

export function Security() {
  return (
    <div class="columns">
      <Password />
      <SecondFactor />
      <ChangeEmail />
    </div>
  );
}

const FIELDS = ["current_password", "new_password"];

function Password() {
  const t = useText();
  const change = useChangePassword();
  const [current, setCurrent] = useState("");
  const [fresh, setFresh] = useState("");
  const [problem, rest] = splitProblem(change.error, FIELDS);
  return (
    <section class="card stack">
      <h2>{t.account.passwordTitle}</h2>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          change.mutate(
            { current_password: current, new_password: fresh },
            {
              onSuccess: () => {
                setCurrent("");
                setFresh("");
                tell(t.account.passwordChanged);
              },
            },
          );
        }}
      >
        <TextField
          label={t.account.currentPassword}
          type="password"
          autocomplete="current-password"
          required
          value={current}
          onValue={setCurrent}
          problem={problem("current_password")}
        />
        <TextField
          label={t.account.newPassword}
          hint={t.register.passwordHint}
          type="password"
          autocomplete="new-password"
          required
          value={fresh}
          onValue={setFresh}
          problem={problem("new_password")}
        />
        <ProblemText error={rest} />
        <div class="row">
          <Button type="submit" kind="primary" busy={change.isPending}>
            {t.account.changePassword}
          </Button>
        </div>
      </form>
    </section>
  );
}
