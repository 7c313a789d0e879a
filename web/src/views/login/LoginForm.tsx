import { useState } from "preact/hooks";
import { ApiError, type Schemas } from "../../api/client";
import { logIn } from "../../api/login";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { TextField } from "../../ui/Field";
import { ProblemText, splitProblem } from "../../ui/Problem";

interface Props {
  /** Given when only this user can go on. */
  email?: string;
  submit: string;
  onDone: (loggedIn: Schemas["LoggedIn"]) => void | Promise<void>;
}

const FIELDS = ["email", "password", "code"];

export function LoginForm({ email: known, submit, onDone }: Props) {
  const t = useText();
  const [email, setEmail] = useState(known ?? "");
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [needsCode, setNeedsCode] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const [problem, rest] = splitProblem(error, FIELDS);

  const onSubmit = async () => {
    setBusy(true);
    setError(null);
    try {
      await onDone(await logIn(needsCode ? { email, password, code } : { email, password }));
    } catch (thrown) {
      if (thrown instanceof ApiError && thrown.code === "code_required" && !needsCode) setNeedsCode(true);
      else setError(thrown as Error);
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
      <TextField
        label={t.login.email}
        type="email"
        autocomplete="username"
        required
        readOnly={known !== undefined}
        value={email}
        onValue={setEmail}
        problem={problem("email")}
      />
      <TextField
        label={t.login.password}
        type="password"
        autocomplete="current-password"
        required
        value={password}
        onValue={setPassword}
        problem={problem("password")}
        inputRef={known === undefined ? focusNothing : focusOnce}
      />
      {needsCode && (
        <TextField
          label={t.login.code}
          hint={t.login.codeHint}
          autocomplete="one-time-code"
          inputMode="text"
          required
          value={code}
          onValue={setCode}
          problem={problem("code")}
          inputRef={focusOnce}
        />
      )}
      <ProblemText error={rest} />
      <Button type="submit" kind="primary" busy={busy}>
        {submit}
      </Button>
    </form>
  );
}

const focusNothing = () => {};

function focusOnce(input: HTMLInputElement | null): void {
  if (input && input.value === "") input.focus();
}
