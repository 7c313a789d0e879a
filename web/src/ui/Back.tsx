/** From one thing to the list that it is in. */
export function Back({ href, label }: { href: string; label: string }) {
  return (
    <p class="small">
      <a href={href}>← {label}</a>
    </p>
  );
}
