import type { ListedExtension } from "../../api/extensions";
import { useText } from "../../text";
import { CheckIcon } from "../../ui/icons";

type Marked = Pick<ListedExtension, "is_verified" | "is_behind" | "validation_status" | "parent_extension_id">;

/** Where it comes from, and whether it can be run. */
export function Marks({ extension }: { extension: Marked }) {
  const t = useText().extensions;
  return (
    <>
      {extension.is_verified ? (
        <span class="mark-verified" title={t.verifiedText}>
          <CheckIcon />
          {t.verified}
        </span>
      ) : (
        <span class="tag" title={t.unverifiedText}>
          {extension.parent_extension_id ? t.fork : t.own}
        </span>
      )}
      {extension.is_behind && (
        <span class="tag warn" title={t.behindText}>
          {t.behind}
        </span>
      )}
      {extension.validation_status === "invalid" && <span class="tag warn">{t.draft}</span>}
    </>
  );
}
