import { useState } from "preact/hooks";
import { acceptInvitation, useIsAdminRegistered } from "../../api/login";
import { forgetLinkToken, linkToken } from "../../session/linkToken";
import { useText } from "../../text";
import { ForgotPassword } from "./ForgotPassword";
import { Frame } from "./Frame";
import { LoginForm } from "./LoginForm";
import { RegisterForm } from "./RegisterForm";
import { Unreachable } from "./Stuck";

/** For those who are not logged in: the first admin, an invited person, or a login. */
export function Gate({ onEntered }: { onEntered: () => void }) {
  const t = useText();
  const registered = useIsAdminRegistered();
  const [wantsLogin, setWantsLogin] = useState(linkToken("invitation") === null);
  const [wantsRegistration, setWantsRegistration] = useState(false);
  const [hasForgotten, setForgotten] = useState(false);
  const invitation = linkToken("invitation");

  if (registered.error) return <Unreachable error={registered.error} onAgain={() => void registered.refetch()} />;
  if (!registered.data) return null;
  if (!registered.data.admin_registered) {
    return (
      <Frame title={t.register.firstTitle}>
        <p class="muted">{t.register.first}</p>
        <RegisterForm kind="first" submit={t.register.submit} onDone={onEntered} />
      </Frame>
    );
  }
  if (invitation && !wantsLogin) {
    return (
      <Frame title={t.register.invitedTitle}>
        <p class="muted">{t.register.invited}</p>
        <RegisterForm
          kind="invited"
          token={invitation}
          submit={t.register.submitInvited}
          onDone={() => {
            forgetLinkToken();
            onEntered();
          }}
        />
        <button type="button" class="link" onClick={() => setWantsLogin(true)}>
          {t.login.haveAccount}
        </button>
      </Frame>
    );
  }
  if (wantsRegistration) {
    return (
      <Frame title={t.register.openTitle}>
        <p class="muted">{t.register.open}</p>
        <RegisterForm kind="open" submit={t.register.submit} onDone={onEntered} />
        <button type="button" class="link" onClick={() => setWantsRegistration(false)}>
          {t.login.haveAccount}
        </button>
      </Frame>
    );
  }
  if (hasForgotten) return <ForgotPassword onBack={() => setForgotten(false)} />;
  const join = async () => {
    if (invitation) {
      await acceptInvitation(invitation);
      forgetLinkToken();
    }
    onEntered();
  };
  return (
    <Frame title={invitation ? t.register.acceptTitle : t.login.title}>
      <LoginForm submit={invitation ? t.register.accept : t.login.submit} onDone={join} />
      <p class="muted small">
        {t.login.needAccount}{" "}
        <button
          type="button"
          class="link"
          onClick={() => (invitation ? setWantsLogin(false) : setWantsRegistration(true))}
        >
          {t.login.register}
        </button>
      </p>
      <button type="button" class="link" onClick={() => setForgotten(true)}>
        {t.login.forgot}
      </button>
    </Frame>
  );
}
