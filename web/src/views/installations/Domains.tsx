import type { Installation } from "../../api/installations";

/** Visitors are taken to come the same way as the dashboard's user. */
export function Domains({ of }: { of: Installation["domains"] }) {
  return (
    <>
      {of.map(({ domain }, index) => (
        <span key={domain}>
          {index > 0 && ", "}
          <a href={`${location.protocol}//${domain}/`} target="_blank" rel="noreferrer">
            {domain}
          </a>
        </span>
      ))}
    </>
  );
}
