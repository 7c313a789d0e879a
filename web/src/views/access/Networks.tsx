import { useText } from "../../text";
import { AreaField } from "../../ui/Field";
import { GroupForm } from "./GroupForm";
import { type GroupProps, useGroup } from "./useGroup";

const FIELDS = ["allow", "deny"] as const;

/** Addresses: the browser neither proposes nor corrects them. */
const EXACT = { autocomplete: "off", autocapitalize: "off", rows: 4 } as const;

export function Networks(props: GroupProps) {
  const t = useText().access;
  const group = useGroup(props, FIELDS);
  return (
    <section class="card stack">
      <h2>{t.networks}</h2>
      <GroupForm title={t.networks} group={group} readOnly={props.readOnly}>
        <AreaField {...EXACT} label={t.allow} hint={t.allowHint} {...group.text("allow")} />
        <AreaField {...EXACT} label={t.deny} hint={t.denyHint} {...group.text("deny")} />
      </GroupForm>
    </section>
  );
}
