import { ApiError } from "../../api/client";
import { type Extension, useParentOffer } from "../../api/extensions";
import { useMay } from "../../session";
import { useText } from "../../text";
import { Loading } from "../../ui/Empty";
import { Facts } from "../../ui/Facts";
import { Problem } from "../../ui/Problem";
import { OfferChanges } from "./OfferChanges";
import { TakeOffer } from "./TakeOffer";

/** How far a fork is behind what it was forked from, and the way to catch up. */
export default function ParentOffer({ extension }: { extension: Extension }) {
  const t = useText().offers;
  const mayTake = useMay("extension:create");
  const { data: offer, error, refetch } = useParentOffer(extension);
  // The parent is gone, or one of the texts is no YAML.
  if (error instanceof ApiError && error.code === "conflict") return <p class="notice warn">{error.message}</p>;
  if (error && !offer) return <Problem error={error} onAgain={() => void refetch()} />;
  if (!offer) return <Loading />;
  const isBehind = offer.behind > 0 || extension.is_behind;
  return (
    <>
      <section class="card stack">
        <h2>{isBehind ? t.behindTitle : t.currentTitle}</h2>
        <Facts
          rows={[
            [
              t.parent,
              <a key="p" href={`/extensions/${offer.parent_key}`}>
                {offer.parent_key}
              </a>,
            ],
            [t.parentVersion, offer.parent_version],
          ]}
        />
        {isBehind && <p>{offer.behind > 0 ? t.counts(offer.behind, offer.conflicts) : t.onlyComments}</p>}
        <OfferChanges changes={offer.changes} />
      </section>
      {isBehind && mayTake && <TakeOffer extension={extension} offer={offer} onLookAgain={() => void refetch()} />}
      {isBehind && !mayTake && <p class="notice">{t.viewer}</p>}
    </>
  );
}
