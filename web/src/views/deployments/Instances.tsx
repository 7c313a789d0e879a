import type { Deployment } from "../../api/deployments";
import { useText } from "../../text";

/** Of a compose file. */
export const servicesOf = (of: Deployment): string[] =>
  [...new Set(of.instances.map(({ service }) => service))].filter(Boolean);

/** A site has none, which is worth saying. */
export const hasInstances = (of: Deployment): boolean => of.artifact === "site" || of.instances.length > 0;

export function Instances({ of }: { of: Deployment }) {
  const t = useText();
  if (of.artifact === "site") return <>{t.application.filesAlone}</>;
  return (
    <span class="row">
      {of.instances.map(({ ordinal, service, status }) => (
        <span key={ordinal} class="tag">
          {service || ordinal}: {t.state.container[status]}
        </span>
      ))}
    </span>
  );
}
