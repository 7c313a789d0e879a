import { useEffect, useState } from "preact/hooks";
import { type Connection, type HostedRepository, useRepositories } from "../../api/connections";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Loading } from "../../ui/Empty";
import { SelectField, TextField } from "../../ui/Field";
import { Problem } from "../../ui/Problem";
import { useSettled } from "../../ui/settled";
import { HOSTS } from "../connections/hosts";

const TYPING_MS = 300;

interface Props {
  connections: readonly Connection[];
  connectionId: string;
  chosen: string;
  /** The full name of the repository that is looked for at first, and chosen when it is found. */
  wanted: string;
  onConnection: (id: string) => void;
  onRepository: (repository: HostedRepository) => void;
}

/** What a code host lists for a connection: found by name, more of it when it is asked for. */
export function RepositoryPicker({ connections, connectionId, chosen, wanted, onConnection, onRepository }: Props) {
  const t = useText();
  const [search, setSearch] = useState(wanted);
  const found = useRepositories(connectionId, useSettled(search.trim(), TYPING_MS));
  const repositories = found.data?.pages.flatMap((page) => page.repositories) ?? [];
  const match = wanted && !chosen ? repositories.find(({ full_name }) => full_name === wanted) : undefined;
  useEffect(() => {
    if (match) onRepository(match);
  }, [match?.full_name]);
  return (
    <>
      <SelectField
        label={t.create.connection}
        value={connectionId}
        onValue={onConnection}
        options={connections.map(({ id, name, host }) => [
          id,
          name === HOSTS[host] ? name : `${name} (${HOSTS[host]})`,
        ])}
      />
      <TextField type="search" label={t.create.findRepository} value={search} onValue={setSearch} />
      <div class="wide stack">
        {found.error && <Problem error={found.error} onAgain={() => void found.refetch()} />}
        {found.isPending && <Loading />}
        {found.data && repositories.length === 0 && (
          <p class="muted">{found.hasNextPage ? t.connections.noneYet : t.create.noRepositories}</p>
        )}
        {repositories.length > 0 && (
          <fieldset class="picker">
            <legend class="hidden-text">{t.create.repository}</legend>
            {repositories.map((repository) => (
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
        {found.hasNextPage && (
          <div class="row">
            <Button busy={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
              {t.connections.more}
            </Button>
          </div>
        )}
      </div>
    </>
  );
}
