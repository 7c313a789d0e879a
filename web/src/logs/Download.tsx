import { useState } from "preact/hooks";
import { open } from "../api/client";
import { useText } from "../text";
import { Button } from "../ui/Button";
import { useTellProblem } from "../ui/Toast";
import type { Filter } from "./filter";
import { downloadAddress, type LogSource } from "./source";

/**
 * A plain link could not say in which organization it acts. Browsers keep a large blob on the disk, so that the size of a log does
 * not matter.
 */
export function Download({ source, filter }: { source: LogSource; filter: Filter }) {
  const t = useText();
  const tellProblem = useTellProblem();
  const [busy, setBusy] = useState(false);
  const download = async () => {
    setBusy(true);
    try {
      const answer = await open(downloadAddress(source, filter));
      save(await answer.blob(), fileName(answer) ?? `${source.id}.log`);
    } catch (error) {
      tellProblem(error as Error);
    }
    setBusy(false);
  };
  return (
    <Button busy={busy} onClick={() => void download()}>
      {t.logs.download}
    </Button>
  );
}

function fileName(answer: Response): string | undefined {
  return /filename="([^"/\\]+)"/.exec(answer.headers.get("Content-Disposition") ?? "")?.[1];
}

function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // Some browsers read it only after the click has been handled.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
