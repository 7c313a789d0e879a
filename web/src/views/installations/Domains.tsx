import type { Installation } from "../../api/installations";

export function Domains({ of }: { of: Installation["domains"] }) {
  return (
    <>
      {of.map(({ domain, url }, index) => (
        <span key={domain}>
          {index > 0 && ", "}
          <a href={url} target="_blank" rel="noreferrer">
            {domain}
          </a>
        </span>
      ))}
    </>
  );
}
