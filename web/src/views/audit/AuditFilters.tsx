import type { AuditAction, AuditScope } from "../../api/audit";
import { useMembers } from "../../api/organization";
import { useSession } from "../../session";
import { useText } from "../../text";
import { FilterChoice, FilterSearch, FilterSelect, Filters, FilterText } from "../../ui/Filter";
import { changeFilter, type FilterChange } from "../../ui/filter";
import { nameOf } from "../organization/roles";
import { ACTIONS, type AuditFilter, RESOURCES } from "./filter";

const SCOPES: readonly AuditScope[] = ["organization", "instance"];

interface Props {
  filter: AuditFilter;
  onFilter: (filter: AuditFilter) => void;
}

export function AuditFilters({ filter, onFilter }: Props) {
  const t = useText();
  const { user, may } = useSession();
  const { data: members } = useMembers(may("member:read"));
  const scope = filter.scope ?? "organization";
  const change = (part: FilterChange<AuditFilter>) => onFilter(changeFilter(filter, part));
  return (
    <Filters class="audit-filters">
      <FilterSearch
        label={t.audit.search}
        hint={t.audit.searchHint}
        value={filter.search ?? ""}
        onValue={(search) => change({ search })}
      />
      <FilterText
        label={t.audit.actor}
        value={filter.actor ?? ""}
        proposed={members?.map(nameOf) ?? []}
        onValue={(actor) => change({ actor })}
      />
      <FilterChoice
        label={t.audit.action}
        value={filter.action ?? ""}
        options={ACTIONS.map((action) => [action, t.audit.actions[action] ?? action])}
        onValue={(action) => change({ action: action as AuditAction })}
      />
      <FilterChoice
        label={t.audit.resource}
        value={filter.resource ?? ""}
        options={RESOURCES[scope].map((resource) => [resource, t.audit.resources[resource] ?? resource])}
        onValue={(resource) => change({ resource })}
      />
      {user.type === "admin" && (
        <FilterSelect
          label={t.audit.scope}
          value={scope}
          options={SCOPES.map((name) => [name, t.audit.scopes[name]])}
          // The kinds of things are others there.
          onValue={(name) => change({ scope: name as AuditScope, resource: undefined, actor: undefined })}
        />
      )}
      <span class="filter-days">
        <Day label={t.audit.from} value={filter.from} onValue={(from) => change({ from })} />
        <Day label={t.audit.to} value={filter.to} onValue={(to) => change({ to })} />
      </span>
    </Filters>
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
