import { type Bytes, FolderTar, type TarFile, TarOfUser } from "./tar";

/** What the user has chosen. */
export interface Chosen {
  /** Of the folder, or of the tar. */
  name: string;
  /** How many files of it are sent; null where it is a tar already. */
  files: number | null;
  /** Whether there are packages in it, which builds fetch by themselves. */
  hasPackages: boolean;
  bytes: Bytes;
}

/** Packages of Node, which are many files and are installed by the build. */
const PACKAGES = "node_modules";

/** The path below the chosen folder. */
const pathBelow = (file: File): string => file.webkitRelativePath.split("/").slice(1).join("/") || file.name;

const parts = (path: string): string[] => path.split("/");

/** The history is never sent: the server refuses it. */
const isHistory = (path: string): boolean => parts(path).some((part) => part.toLowerCase() === ".git");

export function ofFolder(files: readonly File[], withPackages: boolean): Chosen {
  const all: TarFile[] = files.map((file) => ({ path: pathBelow(file), file })).filter(({ path }) => !isHistory(path));
  const isPackage = ({ path }: TarFile) => parts(path).includes(PACKAGES);
  const sent = withPackages ? all : all.filter((file) => !isPackage(file));
  return {
    name: files[0]?.webkitRelativePath.split("/")[0] ?? "",
    files: sent.length,
    hasPackages: all.some(isPackage),
    bytes: new FolderTar(sent),
  };
}

export const ofTar = (file: File): Chosen => ({
  name: file.name,
  files: null,
  hasPackages: false,
  bytes: new TarOfUser(file),
});
