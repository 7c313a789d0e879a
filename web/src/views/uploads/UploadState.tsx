import { type Text, useText } from "../../text";
import { Button } from "../../ui/Button";
import { bytes } from "../../ui/bytes";
import { Meter } from "../../ui/Meter";
import { describe, ProblemText } from "../../ui/Problem";
import type { Running } from "../../uploads/running";
import { UnreadableFile } from "../../uploads/tar";

type State = Running["state"];

/** How far an upload is, and what can be done about it. */
export function UploadState({ running, onAgain }: { running: Running; onAgain: () => void }) {
  const { uploads: t, common } = useText();
  const { chosen, state, cancel, hurry } = running;
  const { size } = chosen.bytes;
  const done = doneOf(state, size);
  return (
    <section class="card stack" aria-labelledby="upload-title">
      <h2 id="upload-title" class="break">
        {t.of(chosen.name)}
      </h2>
      <p role="status">{words(t, state)}</p>
      <Meter label={t.progress} text={t.sizes(bytes(done), bytes(size))} part={size > 0 ? done / size : 0} />
      {state.is === "waiting" && <Reason error={state.error} />}
      {state.is === "failed" && <Failure error={state.error} />}
      <div class="row">
        {state.is === "waiting" && <Button onClick={hurry}>{t.now}</Button>}
        {state.is === "failed" && (
          <Button kind="primary" onClick={onAgain}>
            {common.again}
          </Button>
        )}
        {state.is === "failed" && <Button onClick={cancel}>{t.chooseAgain}</Button>}
        {(state.is === "reading" || state.is === "sending" || state.is === "waiting") && (
          <Button onClick={cancel}>{common.cancel}</Button>
        )}
      </div>
    </section>
  );
}

function words(t: Text["uploads"], state: State): string {
  if (state.is === "failed") return t.failed;
  return t.states[state.is];
}

function doneOf(state: State, size: number): number {
  if ("done" in state) return state.done;
  return state.is === "finishing" || state.is === "deployed" ? size : 0;
}

/** Why it is tried again. */
function Reason({ error }: { error: Error }) {
  const t = useText();
  return <p class="muted break">{describe(error, t).message}</p>;
}

/** In the server's words; a file of the user's machine is named. */
function Failure({ error }: { error: Error }) {
  const t = useText();
  if (!(error instanceof UnreadableFile)) return <ProblemText error={error} />;
  return (
    <p class="problem-text break" role="alert">
      {t.uploads.unreadable(error.path)}
    </p>
  );
}
