import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { useText } from "../../text";
import { LogoIcon } from "../../ui/icons";
import "./login.css";

/** Around what is shown to those who are not logged in. */
export function Frame({ title, children }: { title: string; children: ComponentChildren }) {
  const t = useText();
  useEffect(() => {
    document.title = `${title} · ${t.product}`;
  }, [title, t]);
  return (
    <main class="gate">
      <p class="gate-brand">
        <LogoIcon /> {t.product}
      </p>
      <div class="card stack">
        <h1>{title}</h1>
        {children}
      </div>
    </main>
  );
}
