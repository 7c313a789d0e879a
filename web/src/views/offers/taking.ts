import type { ParentOffer, TakeOffer } from "../../api/extensions";

/** By the server: both together, or with one side where they meet. `text` is written by the user. */
export type TakenAs = "merged" | "organization" | "upstream" | "text";

/** Without a text of both together there is only the user's own. */
export function choicesOf({ conflicts, yaml_content }: ParentOffer): readonly TakenAs[] {
  if (yaml_content === "") return ["text"];
  return conflicts > 0 ? ["organization", "upstream", "text"] : ["merged", "text"];
}

/** Whose change counts is for the user to say. */
export function usualOf(offer: ParentOffer): TakenAs | null {
  const choices = choicesOf(offer);
  return offer.conflicts === 0 || choices.length === 1 ? (choices[0] ?? null) : null;
}

/** Only what was looked at is taken. */
export function bodyOf({ parent_content_hash }: ParentOffer, as: TakenAs, text: string): TakeOffer {
  if (as === "text") return { parent_content_hash, yaml_content: text };
  return as === "merged" ? { parent_content_hash } : { parent_content_hash, conflicts: as };
}
