import { useState } from "preact/hooks";
import { useText } from "../text";
import { Button } from "../ui/Button";
import { Menu } from "../ui/Menu";
import type { TimeMode } from "./clock";

const MODES: readonly TimeMode[] = ["absolute", "relative", "none"];

interface Props {
  times: TimeMode;
  onTimes: (times: TimeMode) => void;
  onJump: (time: string) => void;
}

/** How times are shown, and a time to go to. */
export function TimeMenu({ times, onTimes, onJump }: Props) {
  const t = useText().logs;
  const [at, setAt] = useState("");
  // Typed in the reader's time zone.
  const time = Date.parse(at);
  return (
    <Menu label={t.time} shown={t.time} kind="plain">
      <fieldset class="log-choices">
        <legend>{t.times}</legend>
        {MODES.map((mode) => (
          <label key={mode} class="check">
            <input type="radio" name="log-times" checked={times === mode} onChange={() => onTimes(mode)} />
            {t.timeMode[mode]}
          </label>
        ))}
      </fieldset>
      <div class="log-choices">
        <label>
          {t.jumpTo}
          <input
            type="datetime-local"
            step="1"
            value={at}
            onInput={({ currentTarget }) => setAt(currentTarget.value)}
          />
        </label>
        <Button
          aria-disabled={Number.isNaN(time)}
          onClick={() => !Number.isNaN(time) && onJump(new Date(time).toISOString())}
        >
          {t.jump}
        </Button>
      </div>
    </Menu>
  );
}
