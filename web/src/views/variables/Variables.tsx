import { useState } from "preact/hooks";
import type { Application } from "../../api/applications";
import { useMay } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Pending } from "../application/Pending";
import { readVariables } from "./changes";
import { EditVariables } from "./EditVariables";
import { KINDS, type VariableKind } from "./kinds";
import { VariableFiles } from "./VariableFiles";
import { VariableList } from "./VariableList";

export default function Variables({ application }: { application: Application }) {
  const t = useText();
  const mayRead = useMay("variable:read");
  const mayUpdate = useMay("deploy:update") && mayRead;
  const [edited, setEdited] = useState<VariableKind | null>(null);
  return (
    <>
      <Pending application={application} />
      {!mayRead && <p class="notice">{t.variables.masked}</p>}
      {KINDS.map((kind) => (
        <section key={kind} class="stack">
          <div class="row between">
            <h2>{kind === "environment_variables" ? t.variables.run : t.variables.build}</h2>
            <div class="row">
              <VariableFiles application={application} kind={kind} />
              {mayUpdate && <Button onClick={() => setEdited(kind)}>{t.variables.edit}</Button>}
            </div>
          </div>
          <VariableList
            label={kind === "environment_variables" ? t.variables.run : t.variables.build}
            variables={readVariables(application[kind])}
            secretNames={application.secret_names}
          />
        </section>
      ))}
      {edited && <EditVariables application={application} kind={edited} onClose={() => setEdited(null)} />}
    </>
  );
}
