import { useState } from "preact/hooks";
import { useBranches, useConnections } from "../../api/connections";
import { useMay } from "../../session";
import { useText } from "../../text";
import { TextField } from "../../ui/Field";
import type { NewApplicationDraft } from "./newApplication";
import { RepositoryPicker } from "./RepositoryPicker";

interface Props {
  draft: NewApplicationDraft;
  change: (part: Partial<NewApplicationDraft>) => void;
  problem: (field: string) => string | null;
}

/** Where the code is: an address, or a repository that a connection reaches. */
export function SourceFields({ draft, change, problem }: Props) {
  const t = useText();
  const connections = useConnections(useMay("connection:update")).data?.connections ?? [];
  const [byConnection, setByConnection] = useState(draft.connectionId !== "");
  const [fullName, setFullName] = useState("");
  const branches = useBranches(byConnection ? draft.connectionId : "", fullName);
  return (
    <section class="card stack">
      <h2>{t.create.source}</h2>
      {connections.length > 0 && (
        <fieldset class="choices">
          <legend class="hidden-text">{t.create.source}</legend>
          {[false, true].map((way) => (
            <label key={String(way)}>
              <input
                type="radio"
                name="way"
                checked={byConnection === way}
                onChange={() => {
                  setByConnection(way);
                  setFullName("");
                  change({ connectionId: way ? (connections[0]?.id ?? "") : "", repository: "" });
                }}
              />
              {way ? t.create.byConnection : t.create.byAddress}
            </label>
          ))}
        </fieldset>
      )}
      <div class="fields">
        {byConnection ? (
          <RepositoryPicker
            connections={connections}
            connectionId={draft.connectionId}
            chosen={draft.repository}
            onConnection={(connectionId) => change({ connectionId, repository: "" })}
            onRepository={(repository) => {
              setFullName(repository.full_name);
              change({ repository: repository.clone_url, branch: repository.default_branch });
            }}
          />
        ) : (
          <>
            <TextField
              label={t.create.repository}
              hint={t.create.repositoryHint}
              required
              autocomplete="off"
              value={draft.repository}
              onValue={(repository) => change({ repository })}
              problem={problem("repository")}
            />
            <TextField
              label={t.create.token}
              hint={t.create.tokenHint}
              type="password"
              autocomplete="off"
              optional
              value={draft.token}
              onValue={(token) => change({ token })}
              problem={problem("repository_token")}
            />
          </>
        )}
        <TextField
          label={t.create.branch}
          hint={t.create.branchHint}
          optional
          autocomplete="off"
          list="branches"
          value={draft.branch}
          onValue={(branch) => change({ branch })}
          problem={problem("branch")}
        />
        <datalist id="branches">
          {branches.data?.references.map(({ name }) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </div>
    </section>
  );
}
