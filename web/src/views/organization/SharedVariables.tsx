import { useState } from "preact/hooks";
import {
  type SharedVariables as Shared,
  useSharedVariables,
  useUpdateSharedVariables,
} from "../../api/sharedVariables";
import { useMay } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Loading } from "../../ui/Empty";
import { SelectField } from "../../ui/Field";
import { Problem } from "../../ui/Problem";
import { tell } from "../../ui/Toast";
import { VariableEditor } from "../variables/VariableEditor";
import { VariableList } from "../variables/VariableList";

/** Previews are in the last one. */
const KNOWN = ["production", "staging", "development", "preview"];

/** Those of the organization, or of the environment that is chosen. */
export function SharedVariables() {
  const t = useText();
  const mayRead = useMay("variable:read");
  const mayUpdate = useMay("organization:update") && mayRead;
  const [environment, setEnvironment] = useState("");
  const [isEdited, setEdited] = useState(false);
  const { data, error, refetch } = useSharedVariables(environment);
  if (error && !data) return <Problem error={error} onAgain={() => void refetch()} />;
  if (!data) return <Loading />;
  const environments = [...new Set([...KNOWN, ...data.environments, environment])].filter(Boolean);
  return (
    <section class="stack">
      <p class="muted">{t.sharedVariables.hint}</p>
      {!mayRead && <p class="notice">{t.variables.masked}</p>}
      <div class="row between">
        <SelectField
          label={t.sharedVariables.of}
          options={[["", t.sharedVariables.organization], ...environments.map((name) => [name, name] as const)]}
          value={environment}
          onValue={setEnvironment}
        />
        {mayUpdate && <Button onClick={() => setEdited(true)}>{t.variables.edit}</Button>}
      </div>
      <VariableList label={t.sharedVariables.title} variables={data.variables} secretNames={data.secret_names} />
      {isEdited && <Edit key={environment} shared={data} onClose={() => setEdited(false)} />}
    </section>
  );
}

function Edit({ shared, onClose }: { shared: Shared; onClose: () => void }) {
  const t = useText();
  const [begun] = useState(shared.updated_at);
  const update = useUpdateSharedVariables();
  const save = (variables: Record<string, string>, secretNames: string[]) =>
    update.mutate(
      {
        environment: shared.environment,
        variables,
        secret_names: secretNames.filter((name) => Object.hasOwn(variables, name)),
        ...(shared.updated_at && { unchanged_since: shared.updated_at }),
      },
      {
        onSuccess: () => {
          tell(`${t.common.saved} ${t.sharedVariables.acts}`);
          onClose();
        },
      },
    );
  return (
    <VariableEditor
      label={t.sharedVariables.title}
      stored={shared.variables}
      secretNames={shared.secret_names}
      isStale={begun !== shared.updated_at}
      busy={update.isPending}
      error={update.error}
      onSave={save}
      onClose={onClose}
    />
  );
}
