import { usePhase } from "./session";
import { invitationToken } from "./session/invitation";
import { Shell } from "./shell/Shell";
import { Views } from "./views";
import { Gate } from "./views/login/Gate";
import { Invited } from "./views/login/Invited";
import { Lapsed } from "./views/login/Lapsed";
import { Homeless, Unreachable } from "./views/login/Stuck";

/** Decides by who is logged in. Below that, the address decides. */
export function App() {
  const phase = usePhase();
  if (phase.is === "unknown") return null;
  if (phase.is === "unreachable") return <Unreachable error={phase.error} onAgain={phase.again} />;
  if (phase.is === "out") return <Gate onEntered={phase.entered} />;
  if (invitationToken()) return <Invited user={phase.is === "in" ? phase.session.user : phase.user} />;
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
