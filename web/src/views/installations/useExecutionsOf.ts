import { useExecutions } from "../../api/executions";
import type { Installation } from "../../api/installations";

const MOST_EXECUTIONS = 100;

/** The server lists executions by organization and by extension: those of one installation are picked out here. */
export function useExecutionsOf({ id }: Installation) {
  const { data } = useExecutions(1, undefined, undefined, MOST_EXECUTIONS);
  return {
    executions: data?.executions.filter(({ installation_id }) => installation_id === id),
    isCut: (data?.pagination.total_count ?? 0) > MOST_EXECUTIONS,
  };
}
