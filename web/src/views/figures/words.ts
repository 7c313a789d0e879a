import type { Text } from "../../text";
import { bytes } from "../../ui/bytes";

/** Thousandths of a processor as a part of one. */
export const percent = (t: Text) => (millis: number) =>
  `${(millis / 10).toLocaleString(t.language, { maximumFractionDigits: millis < 10 ? 2 : millis < 100 ? 1 : 0 })} %`;

export const count = (t: Text) => (number: number) => number.toLocaleString(t.language);

export const milliseconds = (t: Text) => (ms: number) =>
  `${ms.toLocaleString(t.language, { maximumFractionDigits: ms < 10 ? 1 : 0 })} ms`;

export const perSecond = (amount: number) => `${bytes(amount)}/s`;
