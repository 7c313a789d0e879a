export function InstallationPage(_: { id: string; tab: string }) {
  return null;
}
