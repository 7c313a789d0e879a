import { useState } from "preact/hooks";
import { type Extension, type RunExtension, usePlan } from "../../api/extensions";
import { useSettled } from "../../ui/settled";

const TYPING_MS = 400;

export type Planned = ReturnType<typeof usePlanned>;

/** What the server would do with the values in a form, once typing has paused, and whether the user may and wants to do it. */
export function usePlanned(extension: Extension, body: RunExtension) {
  const text = JSON.stringify(body);
  const settled = useSettled(text, TYPING_MS);
  const { data: plan, error, isFetching } = usePlan(extension, JSON.parse(settled) as RunExtension);
  const [read, setRead] = useState("");
  const shown = JSON.stringify(plan);
  const mustRead = plan?.needs_host_access ?? false;
  const isAllowed = plan?.is_allowed !== false;
  // Another plan has to be read anew.
  const hasRead = read === shown;
  return {
    plan,
    error,
    /** False while a newer plan is awaited. */
    isCurrent: settled === text && !isFetching,
    isRefused: !isAllowed || (mustRead && !hasRead),
    mustAgree: mustRead && isAllowed,
    hasAgreed: hasRead,
    agree: (does: boolean) => setRead(does ? shown : ""),
  };
}
