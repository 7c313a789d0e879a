import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { useText } from "../text";
import "./page.css";

interface Props {
  /** Of the browser's tab, and of the page unless it has a heading of its own. */
  title: string;
  heading?: ComponentChildren;
  actions?: ComponentChildren;
  children: ComponentChildren;
}

export function Page({ title, heading, actions, children }: Props) {
  const t = useText();
  useEffect(() => {
    document.title = `${title} · ${t.product}`;
  }, [title, t]);
  return (
    <div class="stack page">
      <div class="row between page-head">
        {heading ?? <h1>{title}</h1>}
        {actions && <div class="row">{actions}</div>}
      </div>
      {children}
    </div>
  );
}
