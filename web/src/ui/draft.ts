/**
 * What a user has changed in a form, and nothing else: each changed field with the value that it had when the user began. What
 * the server sends later shows up in all other fields and never overwrites a changed one.
 */
export type Draft<T> = { readonly [K in keyof T]?: { readonly base: T[K]; readonly value: T[K] } };

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

export function edit<T, K extends keyof T>(draft: Draft<T>, stored: T, name: K, value: T[K]): Draft<T> {
  const base = draft[name]?.base ?? stored[name];
  if (isSame(value, stored[name])) return without(draft, name);
  return { ...draft, [name]: { base, value } };
}

/** Takes what is stored. */
export function without<T, K extends keyof T>(draft: Draft<T>, name: K): Draft<T> {
  const { [name]: _, ...rest } = draft;
  return rest as Draft<T>;
}

/** Keeps the user's value although the stored one has changed. */
export function insist<T, K extends keyof T>(draft: Draft<T>, stored: T, name: K): Draft<T> {
  const entry = draft[name];
  return entry ? { ...draft, [name]: { ...entry, base: stored[name] } } : draft;
}

export function shown<T, K extends keyof T>(draft: Draft<T>, stored: T, name: K): T[K] {
  const entry = draft[name];
  return entry ? entry.value : stored[name];
}

/** Fields that were changed by the user, and meanwhile to something else by another one. */
export function conflicts<T>(draft: Draft<T>, stored: T): (keyof T)[] {
  return changed(draft).filter((name) => {
    const entry = draft[name];
    return entry && !isSame(entry.base, stored[name]) && !isSame(entry.value, stored[name]);
  });
}

export function changed<T>(draft: Draft<T>): (keyof T)[] {
  return Object.keys(draft) as (keyof T)[];
}

/** Only what was changed: this is what is sent. */
export function changedValues<T>(draft: Draft<T>): Partial<T> {
  const values: Partial<T> = {};
  for (const name of changed(draft)) {
    const entry = draft[name];
    if (entry) values[name] = entry.value;
  }
  return values;
}
