import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useText } from "../text";
import "./chart.css";

interface Props {
  /** What the table is of. */
  title: string;
  /** The table. It is made when it is opened, because it is long. */
  children: () => ComponentChildren;
}

/** A picture in words, for those who cannot see it and for those who want to know more. */
export function AsTable({ title, children }: Props) {
  const t = useText();
  const [isOpen, open] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => open(currentTarget.open)}>
      <summary>
        {t.figures.asTable}
        <span class="hidden-text">: {title}</span>
      </summary>
      {isOpen && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
        <section class="chart-table" tabIndex={0} aria-label={t.figures.tableOf(title)}>
          {children()}
        </section>
      )}
    </details>
  );
}
