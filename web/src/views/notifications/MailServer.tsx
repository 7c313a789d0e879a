import { useState } from "preact/hooks";
import { useDeleteSmtp, useSmtp, useTestSmtp } from "../../api/notifications";
import { useSession } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Facts } from "../../ui/Facts";
import { Channel } from "./Channel";
import { EditSmtp } from "./EditSmtp";
import { TestResult } from "./TestResult";

/** The mail server of the organization. */
export function MailServer() {
  const t = useText().notifications;
  const { may, user } = useSession();
  const stored = useSmtp(true);
  const remove = useDeleteSmtp();
  const test = useTestSmtp();
  const [edits, setEdits] = useState(false);
  const config = stored.data;
  return (
    <>
      <Channel
        name={t.mail}
        hint={t.mailHint}
        asked={stored}
        isActive={config?.is_active}
        mayUpdate={may("smtp:update")}
        mayDelete={may("smtp:delete")}
        removeText={t.mailRemoveText}
        removal={{
          ...remove,
          start: (done) =>
            remove.mutate(undefined, {
              onSuccess: () => {
                test.reset();
                done();
              },
            }),
        }}
        onEdit={() => {
          test.reset();
          setEdits(true);
        }}
        actions={
          may("smtp:update") && (
            <Button aria-label={t.testAt(t.mail)} busy={test.isPending} onClick={() => test.mutate()}>
              {t.test}
            </Button>
          )
        }
        below={<TestResult name={t.mail} test={test} delivered={t.testMailed(user.email)} />}
      >
        {config && (
          <Facts
            rows={[
              [t.host, `${config.host}:${config.port}`],
              [t.security, t.securityIs[config.security]],
              [t.username, config.username],
              [t.password, config.has_password ? t.passwordStored : t.passwordNone],
              [t.from, [config.from_name, config.from_email].filter(Boolean).join(", ")],
            ]}
          />
        )}
      </Channel>
      {edits && <EditSmtp stored={config ?? null} onClose={() => setEdits(false)} />}
    </>
  );
}
