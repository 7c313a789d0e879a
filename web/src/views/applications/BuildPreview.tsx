import { useState } from "preact/hooks";
import { type BuildPlan, previewBuild } from "../../api/applications";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Evidence } from "../../ui/Evidence";
import { Facts } from "../../ui/Facts";
import { ProblemText } from "../../ui/Problem";
import { LANGUAGE_NAMES } from "../settings/options";
import { bodyOf, type NewApplicationDraft } from "./newApplication";

type Change = (part: Partial<NewApplicationDraft>) => void;

/** What was asked about, and the answer. */
interface Asked {
  body: string;
  plan: BuildPlan | null;
  error: Error | null;
}

/** What would be built of the repository, and why, before it is deployed. It is shown as long as the form stays as it was asked with. */
export function BuildPreview({ draft, change }: { draft: NewApplicationDraft; change: Change }) {
  const t = useText().buildPlan;
  const [busy, setBusy] = useState(false);
  const [asked, setAsked] = useState<Asked | null>(null);
  const body = bodyOf(draft);
  const shown = asked?.body === JSON.stringify(body) ? asked : null;

  const ask = async () => {
    setBusy(true);
    const text = JSON.stringify(body);
    try {
      setAsked({ body: text, plan: await previewBuild(body), error: null });
    } catch (thrown) {
      setAsked({ body: text, plan: null, error: thrown as Error });
    }
    setBusy(false);
  };
  return (
    <section class="card stack" aria-labelledby="build-plan">
      <h2 id="build-plan">{t.title}</h2>
      <p class="muted">{t.hint}</p>
      <div class="row">
        <Button busy={busy} onClick={ask}>
          {t.ask}
        </Button>
      </div>
      <div class="stack" aria-live="polite">
        {shown?.error && <ProblemText error={shown.error} />}
        {shown?.plan && <Plan plan={shown.plan} change={change} />}
      </div>
    </section>
  );
}

function Plan({ plan, change }: { plan: BuildPlan; change: Change }) {
  const t = useText();
  const [title, advice] = t.failure[plan.failure] ?? [plan.failure, ""];
  return (
    <>
      {plan.failure === "" && (
        <p>
          <strong>{t.buildPlan.makes[plan.artifact]}</strong>
        </p>
      )}
      {plan.failure !== "" && plan.choices.length === 0 && (
        <div class="notice bad">
          <p>
            <strong>{title}.</strong> {advice}
          </p>
          <p>{plan.reason}</p>
        </div>
      )}
      <Choices plan={plan} change={change} />
      <Found plan={plan} />
      <Services plan={plan} />
      {plan.warnings.map((warning) => (
        <p class="notice warn" key={warning}>
          {warning}
        </p>
      ))}
      {plan.dockerfile !== "" && (
        <details>
          <summary>{plan.dockerfile_path || t.buildPlan.madeDockerfile}</summary>
          <Evidence label={t.buildPlan.dockerfile} text={plan.dockerfile} long />
        </details>
      )}
    </>
  );
}

function Choices({ plan, change }: { plan: BuildPlan; change: Change }) {
  const t = useText();
  if (plan.choices.length === 0) return null;
  return (
    <>
      <p>{t.buildPlan.choose}</p>
      <ul class="stack">
        {plan.choices.map(({ language, base_path, program, reasons }) => {
          const name = `${LANGUAGE_NAMES[language] ?? t.settings.noLanguage}: ${program || base_path}`;
          return (
            <li class="row" key={`${language} ${base_path} ${program}`}>
              <Button
                aria-label={`${t.buildPlan.take} ${name}`}
                onClick={() => change({ language, basePath: base_path, program })}
              >
                {t.buildPlan.take}
              </Button>
              <span>
                <strong>{name}</strong> <span class="muted">{reasons.map(({ found }) => found).join("; ")}</span>
              </span>
            </li>
          );
        })}
      </ul>
    </>
  );
}

/** Of a compose file, in the order in which they are started. */
function Services({ plan }: { plan: BuildPlan }) {
  const t = useText().buildPlan;
  if (plan.services.length === 0) return null;
  return (
    <ul class="stack" aria-label={plan.compose_file}>
      {plan.services.map(({ name, image, context_path, port, is_main, volumes }) => (
        <li class="row" key={name}>
          <strong>{name}</strong>
          <span class="muted">{image ? <code>{image}</code> : t.builtIn(context_path)}</span>
          {is_main && <span class="tag">{t.visited(port)}</span>}
          {volumes.map((volume) => (
            <span class="tag" key={volume}>
              {t.volume(volume)}
            </span>
          ))}
        </li>
      ))}
    </ul>
  );
}

function Found({ plan }: { plan: BuildPlan }) {
  const t = useText();
  const of = (name: keyof typeof t.settings.field) => t.settings.field[name][0];
  const language = LANGUAGE_NAMES[plan.language];
  const command = (text: string) => text && <code>{text}</code>;
  return (
    <>
      <Facts
        rows={[
          [of("language"), language && [language, plan.language_version].filter(Boolean).join(" ")],
          [t.buildPlan.framework, plan.framework],
          [of("install_command"), command(plan.install_command)],
          [of("build_command"), command(plan.build_command)],
          [of("start_command"), command(plan.start_command)],
          [of("port"), plan.port || ""],
          [t.buildPlan.served, command(plan.output_path)],
        ]}
      />
      {plan.reasons.length > 0 && (
        <ul>
          {plan.reasons.map(({ found, file }) => (
            <li key={`${file} ${found}`}>
              {file && <code>{file}</code>} {found}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
