import { useState } from "preact/hooks";
import { type Application, applicationQuery, useUpdateApplication } from "../../api/applications";
import { cache } from "../../api/cache";
import { useText } from "../../text";
import { tell } from "../../ui/Toast";
import { readVariables } from "./changes";
import type { VariableKind } from "./kinds";
import { VariableEditor } from "./VariableEditor";

interface Props {
  application: Application;
  kind: VariableKind;
  onClose: () => void;
}

/** Variables of one kind of an application. */
export function EditVariables({ application, kind, onClose }: Props) {
  const t = useText();
  const [begun] = useState(application[kind]);
  const [isLooking, setLooking] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const update = useUpdateApplication();

  /** The stream may be late: what is stored is looked at once more, so that nothing unseen is overwritten. */
  const saveIfSeen = async (variables: Record<string, string>, secret_names: string[]) => {
    setLooking(true);
    try {
      const fresh = await cache.fetchQuery({ ...applicationQuery(application.id), staleTime: 0 });
      setError(null);
      const isSeen = fresh[kind] === application[kind] && `${fresh.secret_names}` === `${application.secret_names}`;
      if (isSeen) save(variables, secret_names, fresh.updated_at);
    } catch (thrown) {
      setError(thrown as Error);
    }
    setLooking(false);
  };

  const save = (variables: Record<string, string>, secret_names: string[], unchanged_since: string) =>
    update.mutate(
      { id: application.id, unchanged_since, [kind]: variables, secret_names },
      {
        onSuccess: () => {
          tell(`${t.common.saved} ${t.variables.acts}`);
          onClose();
        },
      },
    );

  return (
    <VariableEditor
      label={kind === "environment_variables" ? t.variables.run : t.variables.build}
      stored={readVariables(application[kind])}
      secretNames={application.secret_names}
      isStale={begun !== application[kind]}
      busy={isLooking || update.isPending}
      error={error ?? update.error}
      onSave={(variables, secretNames) => void saveIfSeen(variables, secretNames)}
      onClose={onClose}
    />
  );
}
