import type { ComponentChildren } from "preact";
import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import { en, type Text } from "./en";

export type { Text };

/** English without what has not been loaded: only views that are `late` read that. */
const english = en as Text;

export const LANGUAGES: Readonly<Record<string, string>> = { en: "English", de: "Deutsch" };

const TextContext = createContext<Text>(english);
export const useText = (): Text => useContext(TextContext);

let current: Text = english;
/** For what is not a component. Components use `useText`. */
export const text = (): Text => current;

/** The first part of a language tag decides, so that `de-AT` reads German. */
function known(language: string): string {
  const primary = language.toLowerCase().split("-")[0] ?? "";
  return primary in LANGUAGES ? primary : "en";
}

async function load(language: string): Promise<Text> {
  return language === "de" ? (await import("./de")).de : english;
}

/** Without a language of the user, the browser's. */
export function TextProvider({ language, children }: { language: string | null; children: ComponentChildren }) {
  const [value, setValue] = useState<Text>(current);
  const wanted = known(language ?? navigator.language);
  useEffect(() => {
    let isWanted = true;
    load(wanted).then((loaded) => {
      if (!isWanted) return;
      current = loaded;
      document.documentElement.lang = wanted;
      setValue(loaded);
    });
    return () => {
      isWanted = false;
    };
  }, [wanted]);
  return <TextContext.Provider value={value}>{children}</TextContext.Provider>;
}

let loading: Promise<void> | null = null;

/** English as a whole; other languages are in one file. */
export function loadLater(): Promise<void> {
  loading ??= import("./enLater").then(
    ({ later }) => void Object.assign(en, later),
    (error: unknown) => {
      loading = null;
      throw error;
    },
  );
  return loading;
}
