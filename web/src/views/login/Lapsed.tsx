import type { User } from "../../api/account";
import { useText } from "../../text";
import { Dialog } from "../../ui/Dialog";
import { LoginForm } from "./LoginForm";

/** Over the view in which the login has ended: that stays as it is, with what was typed. */
export function Lapsed({ user, onEntered }: { user: User; onEntered: () => void }) {
  const t = useText();
  return (
    <Dialog title={t.login.lapsedTitle}>
      <p>{t.login.lapsed}</p>
      <LoginForm email={user.email} submit={t.login.submit} onDone={onEntered} />
    </Dialog>
  );
}
