import { useEffect, useState } from "preact/hooks";
import { lazy } from "preact-iso";
import { usePhase } from "./session";
import { type LinkKind, linkToken } from "./session/linkToken";
import { Shell } from "./shell/Shell";
import { Views } from "./views";
import { Gate } from "./views/login/Gate";
import { Invited } from "./views/login/Invited";
import { Lapsed } from "./views/login/Lapsed";
import { Homeless, Unreachable } from "./views/login/Stuck";

const ResetPassword = lazy(() => import("./views/login/ResetPassword"));
const VerifyEmail = lazy(() => import("./views/login/VerifyEmail"));

/** The token of a link, also when the link is opened in this tab: what differs only behind the # loads no page. */
function useLinkToken(of: LinkKind): string | null {
  const [token, setToken] = useState(() => linkToken(of));
  useEffect(() => {
    const look = () => setToken((before) => linkToken(of) ?? before);
    addEventListener("hashchange", look);
    return () => removeEventListener("hashchange", look);
  }, [of]);
  return token;
}

/** Decides by who is logged in. Below that, the address decides. */
export function App() {
  const phase = usePhase();
  const reset = useLinkToken("reset");
  const verified = useLinkToken("verify-email");
  if (reset) return <ResetPassword key={reset} token={reset} />;
  if (verified) return <VerifyEmail key={verified} token={verified} />;
  if (phase.is === "unknown") return null;
  if (phase.is === "unreachable") return <Unreachable error={phase.error} onAgain={phase.again} />;
  if (phase.is === "out") return <Gate onEntered={phase.entered} />;
  if (linkToken("invitation")) return <Invited user={phase.is === "in" ? phase.session.user : phase.user} />;
  if (phase.is === "homeless") return <Homeless onEnd={phase.end} />;
  // Another organization begins with nothing of the one before.
  return (
    <>
      <Shell key={phase.session.membership.organization_id} isLapsed={phase.lapsed}>
        <Views />
      </Shell>
      {phase.lapsed && <Lapsed user={phase.session.user} onEntered={phase.entered} />}
    </>
  );
}
