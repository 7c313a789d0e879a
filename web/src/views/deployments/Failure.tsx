import type { Deployment } from "../../api/deployments";
import { useText } from "../../text";

/** What a change of the settings can repair. */
const REPAIRED_IN_SETTINGS = [
  "repository_unreachable",
  "reference_not_found",
  "no_build_pack",
  "out_of_memory",
  "not_listening",
  "unhealthy_answer",
];

/** Why a deployment failed: its class in words, what was seen, what to do. */
export function Failure({ deployment, isServed }: { deployment: Deployment; isServed: boolean }) {
  const t = useText();
  const [title, advice] = t.failure[deployment.failure] ?? [deployment.failure, ""];
  return (
    <section class="notice bad" aria-labelledby="failure">
      <h2 id="failure">
        {title} <code class="tag">{deployment.failure}</code>
      </h2>
      {advice && (
        <p>
          <strong>{t.deployment.whatToDo}:</strong> {advice}{" "}
          {REPAIRED_IN_SETTINGS.includes(deployment.failure) && (
            <a href={`/applications/${deployment.application_id}/settings`}>{t.deployment.toSettings}</a>
          )}
        </p>
      )}
      {deployment.reason && (
        <>
          <h3>{t.deployment.evidence}</h3>
          <pre class="evidence">{deployment.reason}</pre>
        </>
      )}
      {isServed && <p class="muted">{t.deployment.oldServes}</p>}
    </section>
  );
}
