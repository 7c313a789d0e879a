import { useApplication, useApplications } from "../../api/applications";
import { useText } from "../../text";

/** What the organization calls it. Asked for by itself only if it is not among the first of the list. */
export function useApplicationName(id: string): string {
  const t = useText().statusPage;
  const { data: list } = useApplications({});
  const listed = list?.applications.find((one) => one.id === id)?.name;
  const { data, error } = useApplication(id, list !== undefined && listed === undefined);
  return listed ?? data?.name ?? (error ? t.gone : "…");
}

export function ApplicationName({ id }: { id: string }) {
  return <>{useApplicationName(id)}</>;
}
