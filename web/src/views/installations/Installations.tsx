export function Installations() {
  return null;
}
