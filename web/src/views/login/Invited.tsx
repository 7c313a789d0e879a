import { useState } from "preact/hooks";
import type { User } from "../../api/account";
import { acceptInvitation } from "../../api/login";
import { forgetLinkToken, linkToken } from "../../session/linkToken";
import { rememberOrganization } from "../../session/organization";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { ProblemText } from "../../ui/Problem";
import { Frame } from "./Frame";

/** An invitation's link, opened by a user who is logged in. */
export function Invited({ user }: { user: User }) {
  const t = useText();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);

  const leave = () => {
    forgetLinkToken();
    location.reload();
  };
  const join = async () => {
    setBusy(true);
    try {
      const joined = await acceptInvitation(linkToken("invitation") ?? "");
      if (joined?.organization_id) rememberOrganization(joined.organization_id);
      leave();
    } catch (thrown) {
      setError(thrown as Error);
      setBusy(false);
    }
  };
  return (
    <Frame title={t.register.invitedTitle}>
      <p>{t.register.signedInAs(user.email)}</p>
      <ProblemText error={error} />
      <Button kind="primary" busy={busy} onClick={() => void join()}>
        {t.register.acceptNow}
      </Button>
      <Button onClick={leave}>{t.common.cancel}</Button>
    </Frame>
  );
}
