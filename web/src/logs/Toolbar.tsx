import { useText } from "../text";
import { Download } from "./Download";
import { FilterMenu } from "./FilterMenu";
import type { Filter } from "./filter";
import type { Preferences } from "./preferences";
import { canFilter, type LogSource } from "./source";
import { TimeMenu } from "./TimeMenu";
import type { Question } from "./useQuestion";

interface Props {
  source: LogSource;
  services: readonly string[];
  question: Question;
  filter: Filter;
  preferences: Preferences;
  onAsk: (change: Partial<Question>) => void;
  onPrefer: (change: Partial<Preferences>) => void;
  onJump: (time: string) => void;
}

export function Toolbar({ source, services, question, filter, preferences, onAsk, onPrefer, onJump }: Props) {
  const t = useText().logs;
  return (
    <div class="row">
      <FilterMenu {...{ services, question }} hasSteps={canFilter(source)} onAsk={onAsk} />
      <TimeMenu times={preferences.times} onTimes={(times) => onPrefer({ times })} onJump={onJump} />
      <label class="check">
        <input
          type="checkbox"
          checked={preferences.wraps}
          onChange={({ currentTarget }) => onPrefer({ wraps: currentTarget.checked })}
        />
        {t.wrap}
      </label>
      {canFilter(source) && <Download source={source} filter={filter} />}
    </div>
  );
}
