import { useId } from "preact/hooks";
import type { Role } from "../../api/organization";
import { useText } from "../../text";
import "./organization.css";

interface Props {
  roles: readonly Role[];
  value: Role;
  onValue: (role: Role) => void;
}

/** Roles with what they may do, so that the choice needs no other page. */
export function RoleChoice({ roles, value, onValue }: Props) {
  const t = useText();
  const id = useId();
  return (
    <fieldset class="roles">
      <legend>{t.organization.role}</legend>
      {roles.map((role) => (
        <div key={role} class="role-choice">
          <input
            type="radio"
            name={id}
            id={`${id}-${role}`}
            aria-describedby={`${id}-${role}-may`}
            checked={value === role}
            onChange={() => onValue(role)}
          />
          <label for={`${id}-${role}`}>{t.account.roles[role]}</label>
          <p class="hint" id={`${id}-${role}-may`}>
            {t.organization.roleMay[role]}
          </p>
        </div>
      ))}
    </fieldset>
  );
}
