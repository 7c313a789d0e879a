import { type Notice, useSendAgain } from "../../api/notifications";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { tell, useTellProblem } from "../../ui/Toast";

/** What waits is tried now; what has ended is sent once more, with the same id. */
export function SendAgain({ notice, isInList = false }: { notice: Notice; isInList?: boolean }) {
  const t = useText().notifications;
  const send = useSendAgain();
  const tellProblem = useTellProblem();
  const label = notice.state === "waiting" ? t.tryNow : t.sendAgain;
  return (
    <Button
      {...(isInList && { "aria-label": `${label}: ${notice.title}` })}
      busy={send.isPending}
      onClick={() => send.mutate(notice.id, { onError: tellProblem, onSuccess: () => tell(t.isSentAgain) })}
    >
      {label}
    </Button>
  );
}
