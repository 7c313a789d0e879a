import type { Schemas } from "../../api/client";
import type { ExtensionChange } from "../../api/extensions";
import { useText } from "../../text";
import { CheckField } from "../../ui/Field";
import { newDefaultOf } from "./changes";
import { OfferChanges } from "./OfferChanges";

/** What is told of something installed, and of an application. */
type Offer = Pick<
  Schemas["InstallationOffer"],
  "has_update" | "is_behind_parent" | "extension_key" | "upstream_changes" | "conflicts" | "changes" | "problems"
>;

interface Props {
  offer: Offer;
  /** Variables that are to have their new default. */
  defaults?: readonly string[];
  /** Absent for those who may only look. */
  onDefaults?: (defaults: readonly string[]) => void;
}

/** What an update would bring, beside the values that the organization has set. */
export function UpdateOffer({ offer, defaults = [], onDefaults }: Props) {
  const t = useText().offers;
  const takeDefault = (change: ExtensionChange) => {
    const name = newDefaultOf(change);
    if (!name || !onDefaults) return null;
    const others = defaults.filter((other) => other !== name);
    return (
      <CheckField
        label={t.takeDefault(name)}
        checked={defaults.includes(name)}
        onChecked={(takes) => onDefaults(takes ? [...others, name] : others)}
      />
    );
  };
  if (!offer.has_update && !offer.is_behind_parent) return null;
  return (
    <section class="card stack" aria-labelledby="update-offer">
      <h2 id="update-offer">{t.updateTitle}</h2>
      {offer.is_behind_parent && (
        <p class="notice warn">
          <span>
            {t.behindFirst} <a href={`/extensions/${offer.extension_key}/parent`}>{t.toParent}</a>
          </span>
        </p>
      )}
      {offer.has_update && (
        <>
          <p>{t.counts(offer.upstream_changes, offer.conflicts)}</p>
          {offer.conflicts > 0 && <p class="muted">{t.valuesStay}</p>}
          <Problems of={offer.problems} />
          <OfferChanges changes={offer.changes} action={takeDefault} />
        </>
      )}
    </section>
  );
}

/** Why it would be refused without other values. */
function Problems({ of }: { of: readonly string[] }) {
  const t = useText().offers;
  if (of.length === 0) return null;
  return (
    <div class="notice warn">
      <p>{t.problems}</p>
      <ul class="bullets">
        {of.map((problem) => (
          <li key={problem}>{problem}</li>
        ))}
      </ul>
    </div>
  );
}
