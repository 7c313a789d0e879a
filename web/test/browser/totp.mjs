import { createHmac } from "node:crypto";

/** The code that an authenticator shows for a secret in base32. */
export function totp(secret, now = Date.now()) {
  const bits = [...secret].map((letter) =>
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(letter).toString(2).padStart(5, "0"),
  );
  const bytes = (bits.join("").match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(now / 30_000)));
  const digest = createHmac("sha1", Buffer.from(bytes)).update(counter).digest();
  const code = digest.readUInt32BE(digest[19] & 15) & 0x7fffffff;
  return String(code % 1_000_000).padStart(6, "0");
}
