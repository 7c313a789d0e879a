import { useId } from "preact/hooks";
import type { AuditAction, AuditScope } from "../../api/audit";
import { useMembers } from "../../api/organization";
import { useSession } from "../../session";
import { useText } from "../../text";
import { TypedInput } from "../applications/Filters";
import { nameOf } from "../organization/roles";
import { ACTIONS, type AuditFilter, RESOURCES } from "./filter";

interface Props {
  filter: AuditFilter;
  onFilter: (filter: AuditFilter) => void;
}

export function AuditFilters({ filter, onFilter }: Props) {
  const t = useText();
  const id = useId();
  const { user, may } = useSession();
  const { data: members } = useMembers(may("member:read"));
  const scope = filter.scope ?? "organization";
  const change = (part: { [K in keyof AuditFilter]: AuditFilter[K] | undefined }) => {
    const { page: _, ...kept } = { ...filter, ...part };
    onFilter(Object.fromEntries(Object.entries(kept).filter(([, value]) => value)) as AuditFilter);
  };
  return (
    <search class="filters audit-filters">
      <TypedInput
        class="filter-search"
        type="search"
        label={t.audit.search}
        placeholder={t.audit.searchHint}
        value={filter.search ?? ""}
        onValue={(search) => change({ search })}
      />
      <TypedInput
        type="text"
        list={`${id}-actors`}
        label={t.audit.actor}
        placeholder={t.audit.actor}
        value={filter.actor ?? ""}
        onValue={(actor) => change({ actor })}
      />
      <datalist id={`${id}-actors`}>
        {members?.map((member) => (
          <option key={member.id} value={nameOf(member)} />
        ))}
      </datalist>
      <select
        aria-label={t.audit.action}
        value={filter.action ?? ""}
        onChange={({ currentTarget }) => change({ action: (currentTarget.value || undefined) as AuditAction })}
      >
        <option value="">{`${t.audit.action}: ${t.audit.any}`}</option>
        {ACTIONS.map((action) => (
          <option key={action} value={action}>
            {t.audit.actions[action]}
          </option>
        ))}
      </select>
      <select
        aria-label={t.audit.resource}
        value={filter.resource ?? ""}
        onChange={({ currentTarget }) => change({ resource: currentTarget.value })}
      >
        <option value="">{`${t.audit.resource}: ${t.audit.any}`}</option>
        {RESOURCES[scope].map((resource) => (
          <option key={resource} value={resource}>
            {t.audit.resources[resource]}
          </option>
        ))}
      </select>
      {user.type === "admin" && (
        <select
          aria-label={t.audit.scope}
          value={scope}
          // The kinds of things are others there.
          onChange={({ currentTarget }) =>
            change({ scope: currentTarget.value as AuditScope, resource: undefined, actor: undefined })
          }
        >
          {(["organization", "instance"] as const).map((name) => (
            <option key={name} value={name}>
              {t.audit.scopes[name]}
            </option>
          ))}
        </select>
      )}
      <span class="filter-days">
        <Day label={t.audit.from} value={filter.from} onValue={(from) => change({ from })} />
        <Day label={t.audit.to} value={filter.to} onValue={(to) => change({ to })} />
      </span>
    </search>
  );
}

interface DayProps {
  label: string;
  value: string | undefined;
  onValue: (day: string) => void;
}

function Day({ label, value, onValue }: DayProps) {
  return (
    <label class="filter-day">
      <span class="muted small">{label}</span>
      <input type="date" value={value ?? ""} onChange={({ currentTarget }) => onValue(currentTarget.value)} />
    </label>
  );
}
