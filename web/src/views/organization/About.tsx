import { useState } from "preact/hooks";
import { type Organization, useOrganization, useUpdateOrganization } from "../../api/organization";
import { useMay } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { changed, changedValues, type Draft, edit, shown } from "../../ui/draft";
import { Loading } from "../../ui/Empty";
import { Facts } from "../../ui/Facts";
import { TextField } from "../../ui/Field";
import { Problem, ProblemText, splitProblem } from "../../ui/Problem";
import { Time } from "../../ui/Time";
import { tell } from "../../ui/Toast";
import { DeleteOrganization } from "./DeleteOrganization";

export function About() {
  const mayUpdate = useMay("organization:update");
  const mayDelete = useMay("organization:delete");
  const { data, error, refetch } = useOrganization();
  if (error && !data) return <Problem error={error} onAgain={() => void refetch()} />;
  if (!data) return <Loading />;
  return (
    <div class="stack form-page">
      {mayUpdate ? <Form organization={data} /> : <Shown organization={data} />}
      {mayDelete && <DeleteOrganization organization={data} />}
    </div>
  );
}

function Shown({ organization }: { organization: Organization }) {
  const t = useText();
  return (
    <section class="card stack">
      <h2>{t.organization.aboutText}</h2>
      <Facts
        rows={[
          [t.organization.name, organization.name],
          [t.organization.description, organization.description],
          [t.organization.since, <Time key="since" at={organization.created_at} />],
        ]}
      />
      <p class="muted">{t.organization.readOnly}</p>
    </section>
  );
}

interface Fields {
  name: string;
  description: string;
}
const NO_DRAFT: Draft<Fields> = {};

function Form({ organization }: { organization: Organization }) {
  const t = useText();
  const update = useUpdateOrganization();
  const [draft, setDraft] = useState(NO_DRAFT);
  const stored: Fields = { name: organization.name, description: organization.description };
  const [problem, rest] = splitProblem(update.error, Object.keys(stored));
  const isChanged = changed(draft).length > 0;
  const bind = (name: keyof Fields) => ({
    value: shown(draft, stored, name),
    onValue: (value: string) => setDraft((before) => edit(before, stored, name, value)),
    problem: problem(name),
  });
  const save = () =>
    update.mutate(changedValues(draft), {
      onSuccess: () => {
        setDraft(NO_DRAFT);
        tell(t.common.saved);
      },
    });
  return (
    <form
      class="card stack"
      onSubmit={(event) => {
        event.preventDefault();
        if (isChanged && !update.isPending) save();
      }}
    >
      <h2>{t.organization.aboutText}</h2>
      <TextField label={t.organization.name} required maxLength={100} autocomplete="off" {...bind("name")} />
      <TextField
        label={t.organization.description}
        optional
        maxLength={500}
        autocomplete="off"
        {...bind("description")}
      />
      <ProblemText error={rest} />
      <div class="row">
        <Button type="submit" kind="primary" busy={update.isPending} disabled={!isChanged}>
          {t.common.save}
        </Button>
        {isChanged && <Button onClick={() => setDraft(NO_DRAFT)}>{t.settings.discard}</Button>}
      </div>
    </form>
  );
}
