/** The certificate that a listener serves: when it is valid, and whether a newer one could not be loaded. */
import { X509Certificate } from "node:crypto";

export interface CertificateState {
  readonly startsMs: number;
  readonly expiresMs: number;
  /** The files were to be read again and are not a valid pair, so the one from before is served. */
  readonly isReloadFailed: boolean;
}

/** The first certificate of the file is the server's own; the others are those of its issuers. */
export function validityOf(pem: string): Pick<CertificateState, "startsMs" | "expiresMs"> {
  const { validFrom, validTo } = new X509Certificate(pem);
  return { startsMs: Date.parse(validFrom), expiresMs: Date.parse(validTo) };
}

/** The day, as in 2027-03-01. */
export const expiresOn = ({ expiresMs }: Pick<CertificateState, "expiresMs">): string =>
  new Date(expiresMs).toISOString().slice(0, 10);
