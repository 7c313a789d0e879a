/** Waits for a condition, not for a time: for what `look` finds, as soon as that is neither false, undefined nor null. */
export async function until(what, look, seconds = 30) {
  const deadline = Date.now() + seconds * 1000;
  let last;
  while (Date.now() < deadline) {
    try {
      const found = await look();
      if (found !== false && found !== undefined && found !== null) return found;
      last = undefined;
    } catch (error) {
      last = error;
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`in vain for ${seconds} s: ${what}`, { cause: last });
}
