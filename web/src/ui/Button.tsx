import type { ButtonHTMLAttributes, ComponentChildren } from "preact";
import "./button.css";

interface Props extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, "kind"> {
  kind?: "primary" | "plain" | "quiet" | "danger";
  /** Something was sent and its answer is awaited. */
  busy?: boolean;
  children?: ComponentChildren;
}

export function Button({ kind = "plain", busy = false, children, onClick, class: extra, ...rest }: Props) {
  return (
    <button
      type="button"
      {...rest}
      class={`button ${kind}${extra ? ` ${extra}` : ""}`}
      aria-disabled={busy || undefined}
      onClick={(event) => {
        // Kept enabled while busy, so that the focus stays where it is.
        if (busy) event.preventDefault();
        else onClick?.(event);
      }}
    >
      {busy && <span class="spinner" aria-hidden="true" />}
      {children}
    </button>
  );
}

export function ButtonLink({ kind = "plain", href, children }: Pick<Props, "kind" | "children"> & { href: string }) {
  return (
    <a class={`button ${kind}`} href={href}>
      {children}
    </a>
  );
}
