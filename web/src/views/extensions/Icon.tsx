import "./extensions.css";

/** A sign, or a picture that is written out in the text. Pictures run no scripts where they are only shown. */
export function ExtensionIcon({ icon, name, large = false }: { icon: string; name: string; large?: boolean }) {
  const isPicture = icon.startsWith("data:image/svg+xml");
  return (
    <span class={`extension-icon${large ? " large" : ""}`} aria-hidden="true">
      {isPicture ? <img src={icon} alt="" /> : icon || name.charAt(0).toUpperCase()}
    </span>
  );
}
