import { useState } from "preact/hooks";
import { useChangeEmail } from "../../api/account";
import { useSession } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { TextField } from "../../ui/Field";
import { ProblemText, splitProblem } from "../../ui/Problem";
import { tell } from "../../ui/Toast";

const FIELDS = ["email", "password", "code"];

/** Only where the server can send mails: nothing changes before a link is opened. */
export function ChangeEmail() {
  const t = useText();
  const { user } = useSession();
  const change = useChangeEmail();
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [problem, rest] = splitProblem(change.error, FIELDS);
  return (
    <section class="card stack">
      <h2>{t.account.email}</h2>
      <p class="muted">{user.email}</p>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          change.mutate(
            { email, password, ...(user.two_factor_enabled && { code: code.trim() }) },
            {
              onSuccess: () => {
                setEmail("");
                setPassword("");
                setCode("");
                tell(t.account.linkSent(email));
              },
            },
          );
        }}
      >
        <TextField
          label={t.account.newEmail}
          hint={t.account.newEmailHint}
          type="email"
          autocomplete="email"
          required
          value={email}
          onValue={setEmail}
          problem={problem("email")}
        />
        <TextField
          label={t.account.factorStart}
          type="password"
          autocomplete="current-password"
          required
          value={password}
          onValue={setPassword}
          problem={problem("password")}
        />
        {user.two_factor_enabled && (
          <TextField
            label={t.login.code}
            hint={t.login.codeHint}
            autocomplete="one-time-code"
            required
            value={code}
            onValue={setCode}
            problem={problem("code")}
          />
        )}
        <ProblemText error={rest} />
        <div class="row">
          <Button type="submit" kind="primary" busy={change.isPending}>
            {t.account.sendLink}
          </Button>
        </div>
      </form>
    </section>
  );
}
