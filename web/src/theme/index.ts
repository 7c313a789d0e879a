import type { UserSettings } from "../api/account";
import { fontStack } from "./font";
import { THEME_NAMES } from "./names";

const MEMORY = "windlass-look";
const darkness = matchMedia("(prefers-color-scheme: dark)");

type Look = Pick<UserSettings, "theme" | "font_family" | "font_size">;
let look: Look | null = null;

function isKnown(theme: string): boolean {
  return theme !== "system" && (THEME_NAMES as readonly string[]).includes(theme);
}

function apply(): void {
  const root = document.documentElement;
  const followed = darkness.matches ? "dark" : "light";
  root.dataset.theme = look && isKnown(look.theme) ? look.theme : followed;
  const stack = look ? fontStack(look.font_family) : "";
  if (stack) root.style.setProperty("--font", stack);
  else root.style.removeProperty("--font");
  root.style.fontSize = look && look.font_size !== 16 ? `${look.font_size}px` : "";
}

/** The settings of the user, or null for what the system prefers. */
export function wear(settings: Look | null): void {
  look = settings && { theme: settings.theme, font_family: settings.font_family, font_size: settings.font_size };
  try {
    if (look) localStorage.setItem(MEMORY, JSON.stringify(look));
    else localStorage.removeItem(MEMORY);
  } catch {
    // Without storage the look is applied after the settings have arrived.
  }
  apply();
}

/** Before the settings have arrived: what they were the last time. */
export function wearRemembered(): void {
  try {
    look = JSON.parse(localStorage.getItem(MEMORY) ?? "null") as Look | null;
  } catch {
    look = null;
  }
  apply();
  darkness.addEventListener("change", apply);
}
