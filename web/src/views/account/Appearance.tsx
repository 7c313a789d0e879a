import { useState } from "preact/hooks";
import { type UserSettings, useSettings, useUpdateSettings } from "../../api/account";
import { LANGUAGES, useText } from "../../text";
import { THEME_NAMES } from "../../theme/names";
import { Button } from "../../ui/Button";
import { Loading } from "../../ui/Empty";
import { SelectField, TextField } from "../../ui/Field";
import { Problem, ProblemText, splitProblem } from "../../ui/Problem";
import { useTellProblem } from "../../ui/Toast";
import "./account.css";

export function Appearance() {
  const { data, error, refetch } = useSettings();
  if (error && !data) return <Problem error={error} onAgain={() => void refetch()} />;
  if (!data) return <Loading />;
  return (
    <div class="stack">
      <Theme settings={data} />
      <div class="columns">
        <Font settings={data} />
        <Language settings={data} />
      </div>
    </div>
  );
}

function Theme({ settings }: { settings: UserSettings }) {
  const t = useText();
  const update = useUpdateSettings();
  const tellProblem = useTellProblem();
  return (
    <section class="card stack">
      <h2>{t.account.theme}</h2>
      <fieldset class="themes">
        <legend class="hidden-text">{t.account.theme}</legend>
        {THEME_NAMES.map((theme) => (
          <label key={theme} data-theme={theme === "system" ? undefined : theme}>
            <input
              type="radio"
              name="theme"
              checked={settings.theme === theme}
              onChange={() => update.mutate({ theme }, { onError: tellProblem })}
            />
            {t.account.themes[theme]}
          </label>
        ))}
      </fieldset>
    </section>
  );
}

function Font({ settings }: { settings: UserSettings }) {
  const t = useText();
  const update = useUpdateSettings();
  const stored = settings.font_family === "outfit" ? "" : settings.font_family;
  const [family, setFamily] = useState<string | null>(null);
  const [size, setSize] = useState<string | null>(null);
  const [problem, rest] = splitProblem(update.error, ["font_family", "font_size"]);
  const isChanged =
    (family ?? stored) !== stored || (size ?? String(settings.font_size)) !== String(settings.font_size);
  return (
    <form
      class="card stack"
      onSubmit={(event) => {
        event.preventDefault();
        update.mutate(
          {
            font_family: (family ?? stored).trim() || "system-ui",
            font_size: Number(size ?? settings.font_size),
          },
          {
            onSuccess: () => {
              setFamily(null);
              setSize(null);
            },
          },
        );
      }}
    >
      <h2>{t.account.font}</h2>
      <TextField
        label={t.account.font}
        hint={t.account.fontHint}
        list="fonts"
        value={family ?? stored}
        onValue={setFamily}
        problem={problem("font_family")}
      />
      <datalist id="fonts">
        {["system-ui", "sans-serif", "serif", "monospace", "Inter", "Noto Sans", "Atkinson Hyperlegible"].map(
          (name) => (
            <option key={name} value={name} />
          ),
        )}
      </datalist>
      <TextField
        label={t.account.fontSize}
        type="number"
        min={8}
        max={72}
        required
        value={size ?? String(settings.font_size)}
        onValue={setSize}
        problem={problem("font_size")}
      />
      <ProblemText error={rest} />
      <div class="row">
        <Button type="submit" kind="primary" busy={update.isPending} disabled={!isChanged}>
          {t.common.save}
        </Button>
      </div>
    </form>
  );
}

function Language({ settings }: { settings: UserSettings }) {
  const t = useText();
  const update = useUpdateSettings();
  const tellProblem = useTellProblem();
  const known = Object.entries(LANGUAGES);
  const options = settings.language in LANGUAGES ? known : [...known, [settings.language, settings.language] as const];
  return (
    <section class="card stack">
      <h2>{t.account.language}</h2>
      <SelectField
        label={t.account.language}
        value={settings.language}
        options={options}
        onValue={(language) => update.mutate({ language }, { onError: tellProblem })}
      />
    </section>
  );
}
