import { open } from "./client";

/**
 * Saves what an address answers as a file. A plain link could not say in which organization it acts. Browsers keep a large blob on the disk, so that the
 * size does not matter.
 */
export async function download(url: string, usualName: string): Promise<void> {
  const answer = await open(url);
  save(await answer.blob(), fileName(answer) ?? usualName);
}

function fileName(answer: Response): string | undefined {
  return /filename="([^"/\\]+)"/.exec(answer.headers.get("Content-Disposition") ?? "")?.[1];
}

function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // Some browsers read it only after the click has been handled.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
