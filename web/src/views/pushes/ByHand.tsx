import type { CodeHost } from "../../api/connections";
import { useText } from "../../text";
import { HOSTS } from "../connections/hosts";

/** What to enter where, at a host that there is no connection to. */
export function ByHand() {
  const t = useText();
  return (
    <details>
      <summary>{t.pushes.byHand}</summary>
      <div class="stack tight">
        <p>{t.pushes.byHandText}</p>
        <dl class="by-hand">
          {(Object.entries(HOSTS) as [CodeHost, string][]).map(([host, name]) => (
            <div key={host}>
              <dt>{name}</dt>
              <dd>{t.pushes.where[host]}</dd>
            </div>
          ))}
        </dl>
      </div>
    </details>
  );
}
