import type { AuditVerification } from "../../api/audit";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { CloseIcon } from "../../ui/icons";

/** What a walk over all entries has found. */
export function Verified({ found, onClose }: { found: AuditVerification; onClose: () => void }) {
  const t = useText();
  const isWhole = found.broken_at === null;
  return (
    <div class={`notice verified ${isWhole ? "good" : "bad"}`} role="status">
      <div class="verified-head">
        <h2>{found.broken_at === null ? t.audit.verified(found.entries) : t.audit.broken(found.broken_at)}</h2>
        <Button kind="quiet" class="icon-only" aria-label={t.common.close} onClick={onClose}>
          <CloseIcon />
        </Button>
      </div>
      {isWhole ? (
        <p>{t.audit.verifiedText}</p>
      ) : (
        <>
          <p class="break">{found.problem}</p>
          <p>
            {t.audit.brokenText(found.entries)} {t.audit.brokenAdvice}
          </p>
        </>
      )}
    </div>
  );
}
