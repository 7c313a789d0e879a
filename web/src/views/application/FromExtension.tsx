import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import type { Application } from "../../api/applications";
import { ApiError } from "../../api/client";
import { type ApplicationExtension, useApplicationExtension, useUpdateFromExtension } from "../../api/extensionSources";
import { type Extension, useExtension } from "../../api/extensions";
import { useMay } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Loading } from "../../ui/Empty";
import { Facts } from "../../ui/Facts";
import { useKept } from "../../ui/kept";
import { Problem, ProblemText } from "../../ui/Problem";
import { DOMAIN } from "../extensions/facts";
import { VariableFields } from "../extensions/VariableFields";
import { type Given, otherProblem, sentValues } from "../extensions/values";
import { UpdateOffer } from "../offers/UpdateOffer";

/** The extension that an application is made of, and what a newer text would change. */
export default function FromExtension({ application }: { application: Application }) {
  const t = useText().extensionApplication;
  const mayUpdate = useMay("deploy:update");
  const { data: source, error, refetch } = useApplicationExtension(application);
  const { data: extension } = useExtension(source?.extension_id ?? "", source !== undefined && !source.is_deleted);
  if (error && !source) return <Problem error={error} onAgain={() => void refetch()} />;
  if (!source) return <Loading />;
  return (
    <>
      <Source source={source} />
      {source.has_update && mayUpdate && extension && (
        <UpdateForm
          key={source.new_content_hash}
          application={application}
          source={source}
          extension={extension}
          onLookAgain={() => void refetch()}
        />
      )}
      {!(source.has_update && mayUpdate && extension) && <UpdateOffer offer={source} />}
      {source.has_update && !mayUpdate && <p class="notice">{t.lookOnly}</p>}
    </>
  );
}

function Source({ source }: { source: ApplicationExtension }) {
  const t = useText().extensionApplication;
  const name = source.extension_key;
  return (
    <section class="card stack">
      <h2>{t.source}</h2>
      <Facts
        rows={[
          [
            t.extension,
            source.is_deleted ? (
              name
            ) : (
              <a key="e" href={`/extensions/${source.extension_id}`}>
                {name}
              </a>
            ),
          ],
          [t.version, source.version],
          [t.newVersion, source.has_update && source.new_version],
        ]}
      />
      {source.is_deleted && <p class="notice warn">{t.deleted}</p>}
      {!source.is_deleted && !source.has_update && <p class="muted">{t.newest}</p>}
      <details>
        <summary>{t.textInUse}</summary>
        <pre class="break">{source.yaml_content}</pre>
      </details>
    </section>
  );
}

interface FormProps {
  application: Application;
  source: ApplicationExtension;
  extension: Extension;
  onLookAgain: () => void;
}

const NOTHING: Given = {};

/** Values stay unless their new default is wanted: a field is for what the newer text asks for. */
function UpdateForm({ application, source, extension, onLookAgain }: FormProps) {
  const t = useText().extensionApplication;
  const { route } = useLocation();
  const [given, setGiven] = useKept<Given>(`update ${application.id}`, NOTHING);
  const [defaults, setDefaults] = useState<readonly string[]>([]);
  const [isTried, setTried] = useState(false);
  const update = useUpdateFromExtension(application.id);
  const set = setNames(application);
  const variables = extension.variables.filter(({ variable_name: name }) => name !== DOMAIN && !set.includes(name));
  const names = variables.map(({ variable_name }) => variable_name);
  const submit = () => {
    setTried(true);
    update.mutate(
      {
        variables: sentValues(variables, given),
        // Only the text that was looked at.
        content_hash: source.new_content_hash,
        ...(defaults.length > 0 ? { defaults: [...defaults] } : {}),
      },
      {
        onSuccess: ({ id }) => {
          setGiven(() => NOTHING);
          route(`/applications/${application.id}/deployments/${id}`);
        },
        onError: (error) => {
          if (error instanceof ApiError && error.code === "conflict") onLookAgain();
        },
      },
    );
  };
  return (
    <form
      class="stack"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (!update.isPending) submit();
      }}
    >
      <UpdateOffer offer={source} defaults={defaults} onDefaults={setDefaults} />
      <section class="card stack">
        <h2>{t.update}</h2>
        <p class="muted">{t.updateText}</p>
        {source.warnings.length > 0 && (
          <ul class="notice warn bullets">
            {source.warnings.map((warning) => (
              <li key={warning}>{warning}</li>
            ))}
          </ul>
        )}
        <VariableFields
          {...{ variables, given, error: update.error, isTried }}
          onGiven={(next) => {
            update.reset();
            setGiven(() => next);
          }}
        />
        <ProblemText error={otherProblem(update.error, names)} />
        <div class="row">
          <Button type="submit" kind="primary" busy={update.isPending}>
            {t.update}
          </Button>
        </div>
      </section>
    </form>
  );
}

/** The variables of the application: their values are changed there. */
function setNames({ environment_variables: text }: Application): string[] {
  if (text === "") return [];
  return Object.keys(JSON.parse(text) as Record<string, string>);
}
