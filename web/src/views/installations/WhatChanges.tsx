import type { Extension, ExtensionPlan } from "../../api/extensions";
import type { Installation } from "../../api/installations";
import { useText } from "../../text";
import { readValues } from "../extensions/facts";
import type { Given } from "../extensions/values";
import { ChangeList } from "./ChangeList";
import { imageChanges, valueChanges } from "./changes";

interface Props {
  installation: Installation;
  extension: Extension;
  plan: ExtensionPlan | undefined;
  given: Given;
}

/** The plan compared with what is there: version, values, images. */
export function WhatChanges({ installation, extension, plan, given }: Props) {
  const t = useText().installations;
  if (!plan) return null;
  const values = valueChanges(readValues(installation.variable_values), readValues(plan.variable_values));
  const images = imageChanges(
    installation.services.map(({ image }) => image),
    plan.images,
  );
  const secrets = extension.variables.filter((one) => one.variable_type === "secret" && given[one.variable_name]);
  const sentences = [
    ...versionSentences(t, installation, plan),
    ...images.come.map(t.updateImageNew),
    ...images.gone.map(t.updateImageGone),
    ...secrets.map(({ variable_name }) => t.updateSecret(variable_name)),
  ];
  return (
    <div class="stack what-changes">
      <h3>{t.updateChanges}</h3>
      {sentences.length + values.length === 0 && <p class="muted">{t.updateNothing}</p>}
      {sentences.length > 0 && (
        <ul class="bullets">
          {sentences.map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ul>
      )}
      <ChangeList changes={values} />
    </div>
  );
}

type Words = ReturnType<typeof useText>["installations"];

function versionSentences(t: Words, installation: Installation, plan: ExtensionPlan): string[] {
  if (!installation.has_update) return [];
  return installation.version === plan.version
    ? [t.updateSameVersion(plan.version)]
    : [t.updateFrom(installation.version, plan.version)];
}
