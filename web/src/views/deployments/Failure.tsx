import type { Deployment } from "../../api/deployments";
import { useText } from "../../text";
import { Evidence } from "../../ui/Evidence";

/** Of the part of the page that has the log. */
export const LOG_ID = "deployment-log";

/** What a change of the settings can repair. */
const REPAIRED_IN_SETTINGS = [
  "repository_unreachable",
  "reference_not_found",
  "image_not_found",
  "no_build_pack",
  "out_of_memory",
  "not_listening",
  "unhealthy_answer",
];

/** The line in which Windlass says it in the log, right below what the failed step has printed. */
function lineOf({ logs, reason }: Deployment): string | undefined {
  const [first = ""] = reason.split("\n");
  return logs.find(({ stream, log }) => stream === "windlass" && log === `Failed: ${first}`)?.cursor;
}

/** Why a deployment failed: its class in words, what was seen, what to do. */
export function Failure({ deployment, isServed }: { deployment: Deployment; isServed: boolean }) {
  const t = useText();
  const line = lineOf(deployment);
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
          <Evidence label={t.deployment.evidence} text={deployment.reason} />
        </>
      )}
      {line && (
        <p>
          <a href={`#line=${line}`} onClick={() => document.getElementById(LOG_ID)?.scrollIntoView()}>
            {t.deployment.toLine}
          </a>
        </p>
      )}
      {isServed && <p class="muted">{t.deployment.oldServes}</p>}
    </section>
  );
}
