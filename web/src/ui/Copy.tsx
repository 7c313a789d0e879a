import { useState } from "preact/hooks";
import { useText } from "../text";
import { Button } from "./Button";
import { CheckIcon, CopyIcon } from "./icons";

export function Copy({ value, label }: { value: string; label?: string }) {
  const t = useText();
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard?.writeText(value);
    setCopied(true);
    setTimeout(() => setCopied(false), 2_000);
  };
  // Browsers give the clipboard only to https and to the own machine.
  if (!navigator.clipboard) return null;
  return (
    <Button kind="quiet" class={label ? "" : "icon-only"} aria-label={label ? undefined : t.common.copy} onClick={copy}>
      {copied ? <CheckIcon /> : <CopyIcon />}
      {label && (copied ? t.common.copied : label)}
    </Button>
  );
}
