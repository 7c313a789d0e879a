import { useText } from "../../text";
import { bytes } from "../../ui/bytes";
import { Evidence } from "../../ui/Evidence";
import { EntrySection } from "./EntrySection";
import { freeStatuses, type Status } from "./entries";
import { PageDialog } from "./PageDialog";
import type { GroupProps } from "./useGroup";

/** Pages that visitors get in place of those of Windlass. */
export function ErrorPages(props: GroupProps) {
  const t = useText().access;
  return (
    <EntrySection
      {...props}
      field="pages"
      isCard
      isFull={freeStatuses(props.access).length === 0}
      words={{
        title: t.pages,
        text: t.pagesText,
        add: t.addPage,
        change: t.change,
        remove: t.remove,
        removeText: t.removePage,
      }}
      columns={[
        { title: t.status, isName: true, cell: ([status]) => status },
        { title: t.when, bare: true, cell: ([status]) => t.statuses[status as Status] },
        { title: t.html, bare: true, cell: ([status, html]) => <Html status={status} html={html} /> },
      ]}
      dialog={(name, onClose) => <PageDialog {...props} name={name} onClose={onClose} />}
    />
  );
}

/** As text: what a member wrote is not run here. */
function Html({ status, html }: { status: string; html: string }) {
  const t = useText().access;
  return (
    <details>
      <summary>
        {t.htmlOf(status)}, {bytes(new TextEncoder().encode(html).length)}
      </summary>
      <Evidence label={t.htmlOf(status)} text={html} />
    </details>
  );
}
