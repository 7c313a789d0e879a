/** How well a text fits what is typed: null for not at all, else the lower the better. Words may come in any order. */
export function fit(text: string, typed: string): number | null {
  const haystack = text.toLowerCase();
  let score = 0;
  for (const word of typed.toLowerCase().split(/\s+/).filter(Boolean)) {
    const at = haystack.indexOf(word);
    if (at < 0) return null;
    const isStart = at === 0 || /[^\p{L}\p{N}]/u.test(haystack[at - 1] ?? "");
    score += at + (isStart ? 0 : 100);
  }
  return score;
}

export function best<T>(items: readonly T[], typed: string, textOf: (item: T) => string, most: number): T[] {
  return items
    .map((item) => ({ item, score: fit(textOf(item), typed) }))
    .filter((entry): entry is { item: T; score: number } => entry.score !== null)
    .sort((a, b) => a.score - b.score)
    .slice(0, most)
    .map(({ item }) => item);
}
