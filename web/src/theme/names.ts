/** `system` follows what the system prefers; so does a name that is not here. */
export const THEME_NAMES = [
  "system",
  "light",
  "dark",
  "high-contrast",
  "aurora",
  "emerald",
  "citrus",
  "sandalwood",
  "sunset",
  "obsidian",
  "arctic-chill",
  "celestial-night",
  "material-light",
  "pearl-elegance",
] as const;
