const ROUNDS = 64;
const BLOCK = 64;

/** The first 32 bits of the fractions of roots of the first primes: of square roots at the beginning, of cube roots in each round. */
const [BEGINNING, CONSTANTS] = roots();

function roots(): [Int32Array, Int32Array] {
  const primes: number[] = [];
  for (let n = 2; primes.length < ROUNDS; n += 1) if (primes.every((prime) => n % prime !== 0)) primes.push(n);
  const fraction = (root: number) => Math.floor((root - Math.floor(root)) * 2 ** 32) | 0;
  return [
    Int32Array.from(primes.slice(0, 8).map(Math.sqrt), fraction),
    Int32Array.from(primes.map(Math.cbrt), fraction),
  ];
}

/**
 * The hash of bytes that come piece by piece. What browsers have wants all of them at once, and only over https.
 */
export class Sha256 {
  private readonly state = BEGINNING.slice();
  private readonly words = new Int32Array(ROUNDS);
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
    return [...this.state].map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
  }

  /** Without arrays and closures in its rounds, which would make it ten times slower. */
  private mix(bytes: Uint8Array, from: number): void {
    const { words, state } = this;
    spread(words, bytes, from);
    let a = state[0] as number;
    let b = state[1] as number;
    let c = state[2] as number;
    let d = state[3] as number;
    let e = state[4] as number;
    let f = state[5] as number;
    let g = state[6] as number;
    let h = state[7] as number;
    for (let i = 0; i < ROUNDS; i += 1) {
      const one =
        (h +
          (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) +
          ((e & f) ^ (~e & g)) +
          (CONSTANTS[i] as number) +
          (words[i] as number)) |
        0;
      const two = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + one) | 0;
      d = c;
      c = b;
      b = a;
      a = (one + two) | 0;
    }
    state[0] = (state[0] as number) + a;
    state[1] = (state[1] as number) + b;
    state[2] = (state[2] as number) + c;
    state[3] = (state[3] as number) + d;
    state[4] = (state[4] as number) + e;
    state[5] = (state[5] as number) + f;
    state[6] = (state[6] as number) + g;
    state[7] = (state[7] as number) + h;
  }
}

/** The 16 words of a block, and those that follow from them. */
function spread(words: Int32Array, bytes: Uint8Array, from: number): void {
  for (let i = 0, at = from; i < 16; i += 1, at += 4) {
    words[i] =
      ((bytes[at] as number) << 24) |
      ((bytes[at + 1] as number) << 16) |
      ((bytes[at + 2] as number) << 8) |
      (bytes[at + 3] as number);
  }
  for (let i = 16; i < ROUNDS; i += 1) {
    const near = words[i - 2] as number;
    const far = words[i - 15] as number;
    const first = turned(far, 7) ^ turned(far, 18) ^ (far >>> 3);
    const second = turned(near, 17) ^ turned(near, 19) ^ (near >>> 10);
    words[i] = (words[i - 16] as number) + first + (words[i - 7] as number) + second;
  }
}

const turned = (word: number, by: number): number => (word >>> by) | (word << (32 - by));
