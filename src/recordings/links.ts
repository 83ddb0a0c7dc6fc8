/**
 * Links that are their own proof: an HMAC over everything that they grant, under a key that is made for this alone. The parts
 * are joined with a character that none of them can have, so that no two links ever sign the same text.
 */
import { createHmac, timingSafeEqual } from "node:crypto";

const VERSION = "1";
/** 43 characters of base64url. */
const PROOF_FORM = /^[A-Za-z0-9_-]{43}$/;

export type Disposition = "view" | "download";

export interface FileLink {
  readonly app: string;
  readonly recording: string;
  readonly disposition: Disposition;
  /** Unix seconds. */
  readonly expires: number;
}

export class Links {
  constructor(private readonly key: Buffer) {}

  fileProof({ app, recording, disposition, expires }: FileLink): string {
    return this.proof("file", app, recording, disposition, String(expires));
  }

  isFileProof(link: FileLink, proof: string): boolean {
    return isSame(this.fileProof(link), proof);
  }

  uploadProof(app: string, upload: string): string {
    return this.proof("upload", app, upload);
  }

  isUploadProof(app: string, upload: string, proof: string): boolean {
    return isSame(this.uploadProof(app, upload), proof);
  }

  private proof(...parts: readonly string[]): string {
    return createHmac("sha256", this.key)
      .update([VERSION, ...parts].join("\n"))
      .digest("base64url");
  }
}

/** Of the last character only four bits count: compared as text, so that one link has one spelling. */
const isSame = (right: string, shown: string): boolean =>
  PROOF_FORM.test(shown) && timingSafeEqual(Buffer.from(right), Buffer.from(shown));
