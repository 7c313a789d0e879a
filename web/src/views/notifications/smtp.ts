import type { Schemas } from "../../api/client";
import type { SmtpConfig, SmtpSecurity } from "../../api/notifications";

export interface SmtpFields {
  host: string;
  port: string;
  username: string;
  password: string;
  /** Chosen when the server asks for none: then a stored one is forgotten. */
  noPassword: boolean;
  from_email: string;
  from_name: string;
  security: SmtpSecurity;
  is_active: boolean;
}

export const fieldsOf = (stored: SmtpConfig | null): SmtpFields => ({
  host: stored?.host ?? "",
  port: stored ? String(stored.port) : "",
  username: stored?.username ?? "",
  password: "",
  noPassword: false,
  from_email: stored?.from_email ?? "",
  from_name: stored?.from_name ?? "",
  security: stored?.security ?? "starttls",
  is_active: stored?.is_active ?? true,
});

/** Left out: a port that was not typed, for the server's default, and a password that was not typed, to keep it. */
export function bodyOf(fields: SmtpFields): Schemas["CreateSmtpConfig"] {
  const { port, password, noPassword, ...rest } = fields;
  return {
    ...rest,
    ...(port.trim() && { port: Number(port) }),
    ...(noPassword ? { password: "" } : password && { password }),
  };
}
