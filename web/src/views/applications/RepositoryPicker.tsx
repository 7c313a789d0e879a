import { useState } from "preact/hooks";
import { type Connection, type HostedRepository, useRepositories } from "../../api/connections";
import { useText } from "../../text";
import { Loading } from "../../ui/Empty";
import { SelectField, TextField } from "../../ui/Field";
import { Problem } from "../../ui/Problem";
import { useSettled } from "../../ui/settled";

const TYPING_MS = 300;

interface Props {
  connections: readonly Connection[];
  connectionId: string;
  chosen: string;
  onConnection: (id: string) => void;
  onRepository: (repository: HostedRepository) => void;
}

/** What a code host lists for a connection. */
export function RepositoryPicker({ connections, connectionId, chosen, onConnection, onRepository }: Props) {
  const t = useText();
  const [search, setSearch] = useState("");
  const { data, error, refetch, isPending } = useRepositories(connectionId, useSettled(search.trim(), TYPING_MS));
  return (
    <>
      <SelectField
        label={t.create.connection}
        value={connectionId}
        onValue={onConnection}
        options={connections.map(({ id, name, host }) => [id, `${name} (${host})`])}
      />
      <TextField type="search" label={t.create.findRepository} value={search} onValue={setSearch} />
      <div class="wide">
        {error && <Problem error={error} onAgain={() => void refetch()} />}
        {isPending && <Loading />}
        {data?.repositories.length === 0 && <p class="muted">{t.create.noRepositories}</p>}
        {data && data.repositories.length > 0 && (
          <fieldset class="picker">
            <legend class="hidden-text">{t.create.repository}</legend>
            {data.repositories.map((repository) => (
              <label key={repository.clone_url}>
                <input
                  type="radio"
                  name="repository"
                  checked={chosen === repository.clone_url}
                  onChange={() => onRepository(repository)}
                />
                <span class="break">{repository.full_name}</span>
                {repository.is_private && <span class="tag">{t.create.private}</span>}
              </label>
            ))}
          </fieldset>
        )}
      </div>
    </>
  );
}
