import { useState } from "preact/hooks";
import { useText } from "../text";
import { Button } from "./Button";
import { Copy } from "./Copy";
import "./copyable.css";

interface Props {
  value: string;
  /** Names it for those who hear the page. Needed for a secret. */
  label?: string;
  /** Hidden until it is asked for, so that it is not seen over a shoulder. */
  secret?: boolean;
}

/** What is to be taken elsewhere: an address, a key, a command. */
export function Copyable({ value, label, secret = false }: Props) {
  const t = useText();
  const [isShown, setShown] = useState(!secret);
  return (
    <span class="copyable">
      <code class="break">{isShown ? value : "••••••••••••"}</code>
      <span class="row nowrap">
        {secret && (
          <Button
            kind="quiet"
            aria-label={`${isShown ? t.common.hide : t.common.show}: ${label ?? ""}`}
            onClick={() => setShown(!isShown)}
          >
            {isShown ? t.common.hide : t.common.show}
          </Button>
        )}
        <Copy value={value} />
      </span>
    </span>
  );
}
