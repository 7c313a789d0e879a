import type { Deployment } from "../../api/deployments";
import { useText } from "../../text";

export function Instances({ of }: { of: Deployment }) {
  const t = useText();
  return (
    <span class="row">
      {of.instances.map(({ ordinal, status }) => (
        <span key={ordinal} class="tag">
          {ordinal}: {t.state.container[status]}
        </span>
      ))}
    </span>
  );
}
