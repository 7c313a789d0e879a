import { useState } from "preact/hooks";
import { useDisableSecondFactor, useRenewRecoveryCodes } from "../../api/account";
import { useSession } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Copy } from "../../ui/Copy";
import { Dialog } from "../../ui/Dialog";
import { CodeDialog } from "./CodeDialog";
import { SetUpSecondFactor } from "./SetUpSecondFactor";

type Asked = "set-up" | "disable" | "renew" | null;

export function SecondFactor() {
  const t = useText();
  const { user } = useSession();
  const [asked, setAsked] = useState<Asked>(null);
  const [codes, setCodes] = useState<readonly string[]>([]);
  const disable = useDisableSecondFactor();
  const renew = useRenewRecoveryCodes();
  const close = () => setAsked(null);
  const showCodes = (fresh: readonly string[]) => {
    close();
    setCodes(fresh);
  };
  return (
    <section class="card stack">
      <h2>{t.account.factorTitle}</h2>
      <p>{user.two_factor_enabled ? t.account.factorOn : t.account.factorOff}</p>
      <div class="row">
        {user.two_factor_enabled ? (
          <>
            <Button onClick={() => setAsked("renew")}>{t.account.factorRenew}</Button>
            <Button kind="danger" onClick={() => setAsked("disable")}>
              {t.account.factorDisable}
            </Button>
          </>
        ) : (
          <Button kind="primary" onClick={() => setAsked("set-up")}>
            {t.account.factorSetUp}
          </Button>
        )}
      </div>
      {asked === "set-up" && <SetUpSecondFactor onClose={close} onCodes={showCodes} />}
      {asked === "disable" && (
        <CodeDialog
          title={t.account.factorDisable}
          text={t.account.factorDisableText}
          action={t.account.factorDisable}
          danger
          busy={disable.isPending}
          error={disable.error}
          onClose={close}
          onCode={(code) => disable.mutate(code, { onSuccess: close })}
        />
      )}
      {asked === "renew" && (
        <CodeDialog
          title={t.account.factorRenew}
          text={t.account.factorRenewText}
          action={t.account.factorRenew}
          busy={renew.isPending}
          error={renew.error}
          onClose={close}
          onCode={(code) => renew.mutate(code, { onSuccess: (data) => showCodes(data.recovery_codes) })}
        />
      )}
      {codes.length > 0 && (
        <Dialog title={t.account.recoveryTitle}>
          <p>{t.account.recovery}</p>
          <ul class="codes mono">
            {codes.map((code) => (
              <li key={code}>{code}</li>
            ))}
          </ul>
          <div class="dialog-actions">
            <Copy value={codes.join("\n")} label={t.common.copy} />
            <Button kind="primary" onClick={() => setCodes([])}>
              {t.common.close}
            </Button>
          </div>
        </Dialog>
      )}
    </section>
  );
}
