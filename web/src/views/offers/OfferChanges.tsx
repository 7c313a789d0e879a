import type { ComponentChildren } from "preact";
import type { ExtensionChange } from "../../api/extensions";
import { useText } from "../../text";
import { BeforeAfter, Changes } from "../../ui/Changes";
import { Facts } from "../../ui/Facts";
import { MOST_CHANGES, readable, SIDES, type Side } from "./changes";

interface Props {
  changes: readonly ExtensionChange[];
  /** What can be done about one of them. */
  action?: (change: ExtensionChange) => ComponentChildren;
}

/** What differs from the text that both go on from, by who has changed it. */
export function OfferChanges({ changes, action }: Props) {
  const t = useText().offers;
  return (
    <>
      {SIDES.map((side) => {
        const of = changes.filter(({ changed_by }) => changed_by === side);
        return of.length > 0 && <OfSide key={side} side={side} changes={of} action={action} />;
      })}
      {changes.length >= MOST_CHANGES && <p class="muted small">{t.many(MOST_CHANGES)}</p>}
    </>
  );
}

/** What asks for nothing is folded. */
function OfSide({ side, changes, action }: { side: Side; changes: Props["changes"]; action: Props["action"] }) {
  const t = useText().offers;
  const title = t.sides[side](changes.length);
  const list = (
    <Changes>
      {changes.map((change) => (
        <li key={change.path}>
          <strong class="mono break">{change.path}</strong>
          <Values change={change} />
          {action?.(change)}
        </li>
      ))}
    </Changes>
  );
  if (side === "both" || side === "organization") {
    return (
      <details>
        <summary>{title}</summary>
        {list}
      </details>
    );
  }
  return (
    <section class="stack">
      <h3>{title}</h3>
      {list}
    </section>
  );
}

function Values({ change: { changed_by, before, upstream, organization, is_cut } }: { change: ExtensionChange }) {
  const t = useText().offers;
  const shown = (value: string | null) => readable(value, is_cut);
  if (changed_by !== "conflict") {
    const after = changed_by === "organization" ? organization : upstream;
    return <BeforeAfter before={shown(before)} after={shown(after)} />;
  }
  const cell = (value: string | null) =>
    value === null ? <span class="muted">{t.absent}</span> : <code class="break">{shown(value)}</code>;
  return (
    <Facts
      rows={[
        [t.before, cell(before)],
        [t.upstream, cell(upstream)],
        [t.organization, cell(organization)],
      ]}
    />
  );
}
