import { useState } from "preact/hooks";
import {
  useDeleteWebhook,
  useNotificationWebhook,
  usePreferences,
  useTestWebhook,
  type WebhookType,
} from "../../api/notifications";
import { useSession } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Channel } from "./Channel";
import { ChooseEvents } from "./ChooseEvents";
import { EditWebhook } from "./EditWebhook";
import { maskedUrl } from "./masked";
import { SigningSecret } from "./SigningSecret";
import { TestResult } from "./TestResult";
import { Told } from "./Told";

/** One kind of destination: an organization has one of each at most. */
export function WebhookChannel({ type }: { type: WebhookType }) {
  const t = useText().notifications;
  const { may } = useSession();
  const stored = useNotificationWebhook(type);
  const preference = usePreferences().data?.channels.find(({ channel }) => channel === type);
  const remove = useDeleteWebhook();
  const test = useTestWebhook();
  const [open, setOpen] = useState<"edit" | "told" | null>(null);
  const name = t.kind[type];
  const mayUpdate = may("webhook:update");
  const close = () => setOpen(null);
  return (
    <>
      <Channel
        name={name}
        hint={t.kindHint[type]}
        asked={stored}
        isActive={stored.data?.is_active}
        mayUpdate={may(stored.data ? "webhook:update" : "webhook:create")}
        mayDelete={may("webhook:delete")}
        removeText={t.removeText}
        removal={{
          ...remove,
          start: (done) =>
            remove.mutate(type, {
              onSuccess: () => {
                test.reset();
                done();
              },
            }),
        }}
        onEdit={() => {
          // What came of a test says nothing about another address.
          test.reset();
          setOpen("edit");
        }}
        actions={
          mayUpdate && (
            <>
              {preference && (
                <Button aria-label={t.toldAt(name)} onClick={() => setOpen("told")}>
                  {t.told}
                </Button>
              )}
              <Button aria-label={t.testAt(name)} busy={test.isPending} onClick={() => test.mutate(type)}>
                {t.test}
              </Button>
            </>
          )
        }
        below={<TestResult name={name} test={test} delivered={t.testDelivered} />}
      >
        {stored.data && <code class="break">{maskedUrl(stored.data.webhook_url)}</code>}
        {preference && <Told of={preference} />}
        {stored.data && type === "webhook" && mayUpdate && <SigningSecret />}
      </Channel>
      {open === "edit" && <EditWebhook type={type} stored={stored.data ?? null} onClose={close} />}
      {open === "told" && preference && <ChooseEvents channel={type} stored={preference} onClose={close} />}
    </>
  );
}
