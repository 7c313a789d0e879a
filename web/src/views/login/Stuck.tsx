import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Empty } from "../../ui/Empty";
import { describe } from "../../ui/Problem";

export function Unreachable({ error, onAgain }: { error: Error; onAgain: () => void }) {
  const t = useText();
  return (
    <main>
      <Empty title={t.shell.unreachable}>
        <p role="alert">{describe(error, t).message}</p>
        <Button onClick={onAgain}>{t.common.again}</Button>
      </Empty>
    </main>
  );
}

export function Homeless({ onEnd }: { onEnd: () => Promise<void> }) {
  const t = useText();
  return (
    <main>
      <Empty title={t.shell.homeless}>
        <p>{t.shell.homelessHint}</p>
        <Button onClick={() => void onEnd()}>{t.shell.logOut}</Button>
      </Empty>
    </main>
  );
}
