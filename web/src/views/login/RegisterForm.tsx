import { useState } from "preact/hooks";
import type { Schemas } from "../../api/client";
import { register } from "../../api/login";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { TextField } from "../../ui/Field";
import { ProblemText, splitProblem } from "../../ui/Problem";

interface Props {
  kind: "first" | "invited" | "open";
  token?: string;
  submit: string;
  onDone: () => void;
}

const EMPTY = { email: "", password: "", username: "", organization: "", token: "" };
type Fields = typeof EMPTY;

/** What is empty is left out, so that the server's defaults act. */
function bodyOf(fields: Fields): Schemas["Register"] {
  const { email, password, ...optional } = fields;
  return { email, password, ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== "")) };
}

export function RegisterForm({ kind, token, submit, onDone }: Props) {
  const t = useText();
  const [fields, setFields] = useState<Fields>({ ...EMPTY, token: token ?? "" });
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const shown = ["email", "password", "username", ...(kind === "invited" ? [] : ["organization"])];
  const [problem, rest] = splitProblem(error, kind === "first" ? [...shown, "token"] : shown);

  const bind = (name: keyof Fields) => ({
    value: fields[name],
    onValue: (value: string) => setFields((before) => ({ ...before, [name]: value })),
    problem: problem(name),
  });
  const onSubmit = async () => {
    setBusy(true);
    setError(null);
    try {
      await register(bodyOf(fields));
      onDone();
    } catch (thrown) {
      setError(thrown as Error);
    }
    setBusy(false);
  };

  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        if (!busy) void onSubmit();
      }}
    >
      <TextField label={t.login.email} type="email" autocomplete="username" required {...bind("email")} />
      <TextField
        label={t.login.password}
        hint={t.register.passwordHint}
        type="password"
        autocomplete="new-password"
        required
        {...bind("password")}
      />
      <TextField
        label={t.register.username}
        hint={t.register.usernameHint}
        autocomplete="name"
        optional
        {...bind("username")}
      />
      {kind !== "invited" && (
        <TextField
          label={t.register.organization}
          hint={t.register.organizationHint}
          autocomplete="organization"
          optional
          {...bind("organization")}
        />
      )}
      {kind === "first" && (
        <TextField
          label={t.register.setupToken}
          hint={t.register.setupTokenHint}
          autocomplete="off"
          optional
          {...bind("token")}
        />
      )}
      <ProblemText error={rest} />
      <Button type="submit" kind="primary" busy={busy}>
        {submit}
      </Button>
    </form>
  );
}
