import { useState } from "preact/hooks";
import { type ExecutionStatus, useExecutions } from "../../api/executions";
import { useText } from "../../text";
import { ButtonLink } from "../../ui/Button";
import { Empty, Loading } from "../../ui/Empty";
import { FilterChoice, Filters } from "../../ui/Filter";
import { Pages } from "../../ui/Pages";
import { Problem } from "../../ui/Problem";
import { ExecutionTable } from "./ExecutionTable";

/** What was run, newest first: in the organization, or of one extension. */
export function ExecutionList({ extensionId }: { extensionId?: string }) {
  const t = useText();
  const [page, setPage] = useState(1);
  const [status, setStatus] = useState<ExecutionStatus | undefined>();
  const { data, error, refetch } = useExecutions(page, status, extensionId);
  if (error && !data) return <Problem error={error} onAgain={() => void refetch()} />;
  if (!data) return <Loading />;
  const isEmpty = data.executions.length === 0;
  if (isEmpty && !status) {
    return (
      <Empty title={t.executions.none}>
        <p>{t.executions.noneHint}</p>
        {!extensionId && <ButtonLink href="/extensions">{t.installations.toCatalog}</ButtonLink>}
      </Empty>
    );
  }
  return (
    <>
      <Filters>
        <FilterChoice
          label={t.executions.state}
          value={status ?? ""}
          options={Object.entries(t.executions.states)}
          onValue={(chosen) => {
            setStatus((chosen || undefined) as ExecutionStatus | undefined);
            setPage(1);
          }}
        />
      </Filters>
      {isEmpty ? (
        <p class="muted">{t.executions.noneFiltered}</p>
      ) : (
        <ExecutionTable executions={data.executions} hasExtension={!extensionId} />
      )}
      <Pages of={data.pagination} onPage={setPage} />
    </>
  );
}
