import type { ComponentChildren } from "preact";
import { LinkIcon } from "./icons";
import "./copyable.css";

interface Props {
  /** May come from a code host: it is a link only if a browser can follow it. */
  href: string;
  children: ComponentChildren;
  button?: "primary" | "plain";
}

/** A link that leaves the dashboard, in a tab of its own. */
export function Outside({ href, children, button }: Props) {
  if (!/^https?:\/\//.test(href)) return <>{children}</>;
  return (
    <a class={button ? `button ${button}` : "outside"} href={href} target="_blank" rel="noreferrer">
      {children} <LinkIcon />
    </a>
  );
}
