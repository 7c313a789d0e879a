import { useText } from "../../text";
import { CheckField } from "../../ui/Field";
import { EntrySection } from "./EntrySection";
import { GroupForm } from "./GroupForm";
import { HeaderDialog } from "./HeaderDialog";
import { type GroupProps, useGroup } from "./useGroup";

const FIELDS = ["security_headers", "compress"] as const;

/** What is done to the application's answers on their way to visitors. */
export function Headers(props: GroupProps) {
  const t = useText().access;
  const group = useGroup(props, FIELDS);
  return (
    <section class="card stack">
      <h2>{t.answers}</h2>
      <GroupForm title={t.answers} group={group} readOnly={props.readOnly}>
        <Tick label={t.securityHeaders} hint={t.securityHeadersHint} {...group.check("security_headers")} />
        <Tick label={t.compress} hint={t.compressHint} {...group.check("compress")} />
      </GroupForm>
      <EntrySection
        {...props}
        field="headers"
        words={{
          title: t.headers,
          text: t.headersText,
          add: t.addHeader,
          change: t.change,
          remove: t.remove,
          removeText: t.removeHeader,
        }}
        columns={[
          { title: t.headerName, isName: true, cell: ([name]) => <code>{name}</code> },
          {
            title: t.headerValue,
            bare: true,
            cell: ([, value]) => (value ? <code>{value}</code> : <span class="muted">{t.headerLeftOut}</span>),
          },
        ]}
        dialog={(name, onClose) => <HeaderDialog {...props} name={name} onClose={onClose} />}
      />
    </section>
  );
}

type TickProps = { label: string; hint: string } & ReturnType<ReturnType<typeof useGroup>["check"]>;

function Tick({ hint, conflict, ...field }: TickProps) {
  return (
    <CheckField {...field}>
      <p class="hint">{hint}</p>
      {conflict}
    </CheckField>
  );
}
