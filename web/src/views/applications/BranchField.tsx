import { useEffect, useState } from "preact/hooks";
import { useBranches } from "../../api/connections";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { SelectField, TextField } from "../../ui/Field";

/** Of fifty branches each. A repository with more is rare, and its branch can be typed. */
const MOST_PAGES = 10;

interface Props {
  connectionId: string;
  /** By which the code host knows the repository; empty if that is not known. */
  fullName: string;
  hint: string;
  value: string;
  onValue: (branch: string) => void;
  problem: string | null;
}

/** Chosen from what the code host lists, where there is a connection to it; else typed. */
export function BranchField({ connectionId, fullName, hint, value, onValue, problem }: Props) {
  const t = useText();
  const [types, setTypes] = useState(false);
  const { data, hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = useBranches(
    connectionId,
    fullName,
  );
  const wantsMore = hasNextPage && !isFetchingNextPage && !isFetchNextPageError;
  const pages = data?.pages ?? [];
  useEffect(() => {
    if (wantsMore && pages.length < MOST_PAGES) void fetchNextPage();
  }, [wantsMore, pages.length, fetchNextPage]);

  const names = pages.flatMap(({ references }) => references.map(({ name }) => name));
  const isList = names.length > 0 && fullName !== "" && !types;
  const common = { label: t.create.branch, value, onValue, problem };
  if (!isList) return <TextField {...common} hint={hint} optional autocomplete="off" />;
  const listed = value === "" || names.includes(value) ? names : [value, ...names];
  return (
    <SelectField {...common} options={[["", t.create.defaultBranch], ...listed.map((name) => [name, name] as const)]}>
      <p>
        <Button kind="quiet" class="as-hint" onClick={() => setTypes(true)}>
          {t.create.typeReference}
        </Button>
      </p>
    </SelectField>
  );
}
