import { useMay } from "../../session";
import { useText } from "../../text";

interface Props {
  isNeeded: boolean;
  /** What reaches beyond, each with its place. */
  dangers: readonly string[];
}

/** Whether it reaches beyond the organization's own containers, and whether the user may do that. */
export function HostAccess({ isNeeded, dangers }: Props) {
  const t = useText().extensions;
  const mayReach = useMay("extension:host");
  if (!isNeeded) return <p class="muted">{t.noHost}</p>;
  return (
    <div class={`notice ${mayReach ? "warn" : "bad"}`}>
      <p>
        <strong>{t.hostTitle}</strong>
      </p>
      <p>{dangers.length > 0 ? t.hostText : t.hostByType}</p>
      {dangers.length > 0 && (
        <ul class="bullets">
          {dangers.map((danger) => (
            <li key={danger}>{danger}</li>
          ))}
        </ul>
      )}
      {!mayReach && <p>{t.hostMissing}</p>}
    </div>
  );
}
