import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { THEME_NAMES } from "../src/theme/names.ts";

/** The tokens of each theme: every block adds to what the blocks before have set. */
function themes(): Map<string, Map<string, string>> {
  const css = readFileSync("src/style/tokens.css", "utf8");
  const found = new Map<string, Map<string, string>>();
  for (const [, selectors = "", body = ""] of css.matchAll(/([^{}]+)\{([^{}]+)\}/g)) {
    for (const [, name = ""] of selectors.matchAll(/\[data-theme="([^"]+)"\]/g)) {
      const tokens = found.get(name) ?? new Map<string, string>();
      for (const [, token = "", value = ""] of body.matchAll(/--([\w-]+):\s*(#[0-9a-f]{6})/g)) tokens.set(token, value);
      found.set(name, tokens);
    }
  }
  return found;
}

function luminance(colour: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

const BACKGROUNDS = ["page", "raised", "sunken"];
const TEXTS = ["ink", "muted", "accent", "good", "warn", "bad"];

test("each theme that can be chosen has its colours", () => {
  const known = [...themes().keys()].sort();
  assert.deepEqual(known, THEME_NAMES.filter((name) => name !== "system").toSorted());
});

for (const [name, tokens] of themes()) {
  test(`${name}: text can be read (4.5 to 1), and edges of fields can be seen (3 to 1)`, () => {
    const of = (token: string) => tokens.get(token) ?? assert.fail(`${token} is missing`);
    for (const background of BACKGROUNDS) {
      for (const text of TEXTS) {
        const ratio = contrast(of(text), of(background));
        assert.ok(ratio >= 4.5, `${text} on ${background}: ${ratio.toFixed(2)}`);
      }
      const ratio = contrast(of("edge"), of(background));
      assert.ok(ratio >= 3, `edge on ${background}: ${ratio.toFixed(2)}`);
    }
    const button = contrast(of("on-accent"), of("accent"));
    assert.ok(button >= 4.5, `on-accent on accent: ${button.toFixed(2)}`);
  });
}
