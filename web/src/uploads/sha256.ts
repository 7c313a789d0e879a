const ROUNDS = 64;
const BLOCK = 64;

/** The first 32 bits of the fractions of roots of the first primes: of square roots at the beginning, of cube roots in each round. */
const [BEGINNING, CONSTANTS] = roots();

function roots(): [Uint32Array, Uint32Array] {
  const primes: number[] = [];
  for (let n = 2; primes.length < ROUNDS; n += 1) if (primes.every((prime) => n % prime !== 0)) primes.push(n);
  const fraction = (root: number) => Math.floor((root - Math.floor(root)) * 2 ** 32);
  return [
    Uint32Array.from(primes.slice(0, 8).map(Math.sqrt), fraction),
    Uint32Array.from(primes.map(Math.cbrt), fraction),
  ];
}

/**
 * The hash of bytes that come piece by piece. What browsers have wants all of them at once, and only over https.
 */
export class Sha256 {
  private readonly state = BEGINNING.slice();
  private readonly words = new Uint32Array(ROUNDS);
  private readonly rest = new Uint8Array(BLOCK);
  private restLength = 0;
  private length = 0;

  update(bytes: Uint8Array): void {
    this.length += bytes.length;
    let at = 0;
    if (this.restLength > 0) {
      at = Math.min(BLOCK - this.restLength, bytes.length);
      this.rest.set(bytes.subarray(0, at), this.restLength);
      this.restLength += at;
      if (this.restLength < BLOCK) return;
      this.mix(this.rest, 0);
    }
    for (; at + BLOCK <= bytes.length; at += BLOCK) this.mix(bytes, at);
    this.rest.set(bytes.subarray(at));
    this.restLength = bytes.length - at;
  }

  /** In hexadecimal digits. Nothing can be added afterwards. */
  digest(): string {
    const { length } = this;
    const end = new Uint8Array((this.restLength < BLOCK - 8 ? BLOCK : 2 * BLOCK) - this.restLength);
    end[0] = 0x80;
    const bits = new DataView(end.buffer);
    bits.setUint32(end.length - 8, Math.floor(length / 2 ** 29));
    bits.setUint32(end.length - 4, (length * 8) % 2 ** 32);
    this.update(end);
    return [...this.state].map((word) => word.toString(16).padStart(8, "0")).join("");
  }

  private mix(bytes: Uint8Array, from: number): void {
    const { words, state } = this;
    const word = (at: number): number => words[at] ?? 0;
    for (let i = 0; i < 16; i += 1) {
      const at = from + i * 4;
      words[i] =
        ((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16) | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0);
    }
    for (let i = 16; i < ROUNDS; i += 1) {
      const [near, far] = [word(i - 2), word(i - 15)];
      const first = turned(far, 7) ^ turned(far, 18) ^ (far >>> 3);
      const second = turned(near, 17) ^ turned(near, 19) ^ (near >>> 10);
      words[i] = word(i - 16) + first + word(i - 7) + second;
    }
    let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
    for (let i = 0; i < ROUNDS; i += 1) {
      const chosen = (e & f) ^ (~e & g);
      const one = (h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + chosen + (CONSTANTS[i] ?? 0) + word(i)) | 0;
      const most = (a & b) ^ (a & c) ^ (b & c);
      const two = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + most) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    for (const [at, value] of [a, b, c, d, e, f, g, h].entries()) state[at] = (state[at] ?? 0) + value;
  }
}

const turned = (word: number, by: number): number => (word >>> by) | (word << (32 - by));
