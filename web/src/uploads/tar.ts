/** What is sent, piece by piece: it may be larger than the memory. */
export interface Bytes {
  readonly size: number;
  read(from: number, to: number): Promise<Uint8Array<ArrayBuffer>>;
}

/** It is gone, may not be read, or has changed since it was chosen. */
export class UnreadableFile extends Error {
  constructor(readonly path: string) {
    super(path);
  }
}

/** A file, by its path below the root of the tar. */
export interface TarFile {
  path: string;
  file: Blob;
}

interface Entry extends TarFile {
  /** Where it begins in the tar. */
  at: number;
  /** What stands before its head: a name or a size that has no room there. */
  attributes: Uint8Array | null;
}

const BLOCK = 512;
/** What a head has room for. */
const LONGEST_NAME = 100;
const MOST_BYTES = 8 ** 11 - 1;
const PLAIN_NAME = /^[\x20-\x7e]*$/;
/** So many bytes tell a program from other files. */
const MAGIC = 4;
/** Files that are read at the same time. */
const AT_ONCE = 64;
const PLAIN = 0o644;
const EXECUTABLE = 0o755;
const utf8 = new TextEncoder();

const whole = (length: number): number => Math.ceil(length / BLOCK) * BLOCK;

/**
 * A tar of files in the form ustar, with the attributes of pax where a name or a size needs them. The same files make the same bytes, so
 * that an upload can go on after the page was loaded anew. Only what is asked for is made.
 */
export class FolderTar implements Bytes {
  readonly size: number;
  private readonly entries: readonly Entry[];

  constructor(files: readonly TarFile[]) {
    let at = 0;
    const sorted = [...files].sort((one, other) => (one.path < other.path ? -1 : 1));
    this.entries = sorted.map(({ path, file }) => {
      const entry = { path, file, at, attributes: attributesOf(path, file.size) };
      at += headLength(entry) + whole(file.size);
      return entry;
    });
    // Two empty blocks end it.
    this.size = at + 2 * BLOCK;
  }

  async read(from: number, to: number): Promise<Uint8Array<ArrayBuffer>> {
    const wanted = new Uint8Array(Math.max(0, Math.min(to, this.size) - from));
    for (let index = this.lastBegun(from); (this.entries[index]?.at ?? to) < to; index += AT_ONCE) {
      const some = this.entries.slice(index, index + AT_ONCE).filter(({ at }) => at < to);
      await Promise.all(some.map((entry) => fill(wanted, from, to, entry)));
    }
    return wanted;
  }

  /** The last entry that begins at this place or before. */
  private lastBegun(place: number): number {
    let [low, high] = [0, this.entries.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.entries[middle]?.at ?? 0) <= place) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/** Copies what of an entry is between two places into `wanted`, which begins at the first of them. */
async function fill(wanted: Uint8Array, from: number, to: number, entry: Entry): Promise<void> {
  const begin = entry.at + headLength(entry);
  const [start, end] = [Math.max(from, begin), Math.min(to, begin + entry.file.size)];
  const content = start < end ? await contentOf(entry, start - begin, end - begin) : null;
  if (content) copy(wanted, from, start, content);
  if (begin > from) copy(wanted, from, entry.at, await head(entry, content));
}

/** A tar that the user has. */
export class TarOfUser implements Bytes {
  readonly size: number;

  constructor(private readonly file: File) {
    this.size = file.size;
  }

  read(from: number, to: number): Promise<Uint8Array<ArrayBuffer>> {
    return contentOf({ path: this.file.name, file: this.file }, from, Math.min(to, this.size));
  }
}

/** Copies what of `bytes`, which stand at `at`, is within `target`, which begins at `from`. */
function copy(target: Uint8Array, from: number, at: number, bytes: Uint8Array): void {
  const [skipped, start] = [Math.max(0, from - at), Math.max(0, at - from)];
  if (skipped < bytes.length) target.set(bytes.subarray(skipped, skipped + target.length - start), start);
}

async function contentOf({ path, file }: TarFile, from: number, to: number): Promise<Uint8Array<ArrayBuffer>> {
  const content = await file
    .slice(from, to)
    .arrayBuffer()
    .catch(() => null);
  if (content?.byteLength !== to - from) throw new UnreadableFile(path);
  return new Uint8Array(content);
}

const headLength = ({ attributes }: Pick<Entry, "attributes">): number =>
  BLOCK + (attributes ? BLOCK + whole(attributes.length) : 0);

/** With the beginning of its content, if that was read anyway. */
async function head(entry: Entry, content: Uint8Array | null): Promise<Uint8Array> {
  const { path, file, attributes } = entry;
  const all = new Uint8Array(headLength(entry));
  const mode = (await isProgram(entry, content)) ? EXECUTABLE : PLAIN;
  const last = block({ name: nameInHead(path), mode, size: file.size > MOST_BYTES ? 0 : file.size, type: "0" });
  all.set(last, all.length - BLOCK);
  if (attributes) {
    all.set(block({ name: "attributes", mode: PLAIN, size: attributes.length, type: "x" }));
    all.set(attributes, BLOCK);
  }
  return all;
}

/** Browsers do not tell which files can be executed: those that begin as scripts and programs do. */
async function isProgram(entry: TarFile, content: Uint8Array | null): Promise<boolean> {
  const length = Math.min(MAGIC, entry.file.size);
  const isEnough = (content?.length ?? 0) >= length;
  const [a, b, c, d] = (isEnough ? content : await contentOf(entry, 0, length)) ?? [];
  const isScript = a === 0x23 && b === 0x21;
  const isElf = a === 0x7f && b === 0x45 && c === 0x4c && d === 0x46;
  return isScript || isElf;
}

/** The name is in the attributes as well if this is not all of it. */
const nameInHead = (path: string): string => path.replace(/[^\x20-\x7e]/g, "_").slice(0, LONGEST_NAME);

function attributesOf(path: string, size: number): Uint8Array | null {
  const isShort = path.length <= LONGEST_NAME && PLAIN_NAME.test(path);
  const lines = [...(isShort ? [] : [line("path", path)]), ...(size > MOST_BYTES ? [line("size", String(size))] : [])];
  return lines.length > 0 ? utf8.encode(lines.join("")) : null;
}

/** `12 path=name` and an end of line, where the number is the length of all of that in bytes. */
function line(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  const length = utf8.encode(rest).length;
  let digits = 1;
  while (String(length + digits).length > digits) digits += 1;
  return `${length + digits}${rest}`;
}

interface Head {
  name: string;
  mode: number;
  size: number;
  type: "0" | "x";
}

const octal = (value: number, width: number): string => `${value.toString(8).padStart(width - 1, "0")}\0`;

function block({ name, mode, size, type }: Head): Uint8Array {
  const made = new Uint8Array(BLOCK);
  const write = (at: number, text: string) => made.set(utf8.encode(text), at);
  write(0, name);
  write(100, octal(mode, 8));
  write(108, octal(0, 8));
  write(116, octal(0, 8));
  write(124, octal(size, 12));
  write(136, octal(0, 12));
  // The sum is made with spaces in its place.
  write(148, " ".repeat(8));
  write(156, type);
  write(257, "ustar\x0000");
  write(
    148,
    `${octal(
      made.reduce((sum, byte) => sum + byte, 0),
      7,
    )} `,
  );
  return made;
}
