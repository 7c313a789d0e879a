import { useState } from "preact/hooks";
import type { Application } from "../../api/applications";
import { download } from "../../api/download";
import { variablesAddress } from "../../api/variables";
import { useMay } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { useTellProblem } from "../../ui/Toast";
import { ImportVariables } from "./ImportVariables";
import { kindInPath, type VariableKind } from "./kinds";

/** Variables of a kind as a file: to have, and to bring. */
export function VariableFiles({ application, kind }: { application: Application; kind: VariableKind }) {
  const t = useText();
  const tellProblem = useTellProblem();
  const mayRead = useMay("variable:read");
  const mayUpdate = useMay("deploy:update");
  const [imports, setImports] = useState(false);
  const name = kindInPath(kind);
  return (
    <>
      {mayRead && (
        <Button onClick={() => void download(variablesAddress(application.id, name), `${name}.env`).catch(tellProblem)}>
          {t.variables.export}
        </Button>
      )}
      {mayUpdate && mayRead && !application.preview_of && (
        <Button onClick={() => setImports(true)}>{t.variables.import}</Button>
      )}
      {imports && <ImportVariables application={application} kind={kind} onClose={() => setImports(false)} />}
    </>
  );
}
