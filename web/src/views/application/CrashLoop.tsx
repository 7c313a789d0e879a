import type { Application } from "../../api/applications";
import { useText } from "../../text";
import { Time } from "../../ui/Time";

/** A container that ends again and again: why, what it said last, and when it is started again. */
export function CrashLoop({ of: { crash_loop } }: { of: Application }) {
  const t = useText();
  if (!crash_loop) return null;
  return (
    <div class="notice bad stack" role="status">
      <p>{t.application.crashLoop(crash_loop.crashes, crash_loop.reason)}</p>
      {crash_loop.last_lines.length > 0 && <pre>{crash_loop.last_lines.join("\n")}</pre>}
      <p class="muted">
        {crash_loop.next_start_at ? (
          <>
            {t.application.crashNext} <Time at={crash_loop.next_start_at} />
          </>
        ) : (
          t.application.crashUp
        )}
      </p>
    </div>
  );
}
