// A certificate that is signed by itself, as a person makes one with openssl.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What an upload sends. */
export function certificateFor(host, issuer = "Windlass Tests") {
  const folder = mkdtempSync(join(tmpdir(), "windlass-certificate-"));
  try {
    const [chain, key] = [join(folder, "chain.pem"), join(folder, "key.pem")];
    const subject = `/CN=${issuer.replaceAll("/", "\\/")}`;
    const names = `subjectAltName=DNS:${host}`;
    const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc", "-days", "90"];
    execFileSync(
      "openssl",
      ["req", "-x509", ...curve, "-subj", subject, "-addext", names, "-keyout", key, "-out", chain],
      { stdio: "pipe" },
    );
    return { certificate_chain: readFileSync(chain, "utf8"), private_key: readFileSync(key, "utf8") };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
