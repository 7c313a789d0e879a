import type { Setting } from "../../api/instance";

/** Those whose name, meaning or value has every word that is typed. */
export function matching(settings: readonly Setting[], typed: string, onlyChanged: boolean): Setting[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  return settings.filter(({ name, help, value, is_default }) => {
    const text = `${name} ${help} ${value}`.toLowerCase();
    return !(onlyChanged && is_default) && words.every((word) => text.includes(word));
  });
}
