import { useState } from "preact/hooks";
import { download } from "../api/download";
import { useText } from "../text";
import { Button } from "../ui/Button";
import { useTellProblem } from "../ui/Toast";
import type { Filter } from "./filter";
import { downloadAddress, type LogSource } from "./source";

export function Download({ source, filter }: { source: LogSource; filter: Filter }) {
  const t = useText();
  const tellProblem = useTellProblem();
  const [busy, setBusy] = useState(false);
  const run = async () => {
    setBusy(true);
    try {
      await download(downloadAddress(source, filter), `${source.id}.log`);
    } catch (error) {
      tellProblem(error as Error);
    }
    setBusy(false);
  };
  return (
    <Button busy={busy} onClick={() => void run()}>
      {t.logs.download}
    </Button>
  );
}
