import { type Execution, extensionOf } from "../../api/executions";
import { useExtension, useExtensionNames } from "../../api/extensions";
import { useText } from "../../text";
import { addressOf } from "../extensions/facts";

/** Lists tell only the id of the extension, which may be gone. */
export function OfExtension({ execution }: { execution: Execution }) {
  const t = useText().executions;
  const told = extensionOf(execution);
  const { data: names } = useExtensionNames();
  const listed = told ?? names?.get(execution.extension_id);
  // Beyond the first hundred each is asked for.
  const { data: asked, error } = useExtension(execution.extension_id, names !== undefined && !listed);
  const extension = listed ?? asked;
  if (error) return <span class="muted">{t.gone}</span>;
  if (!extension) return null;
  const name = extension.name || extension.extension_id;
  const isGone = told?.deleted_at ?? null;
  return isGone ? <span class="muted">{name}</span> : <a href={addressOf(extension)}>{name}</a>;
}
