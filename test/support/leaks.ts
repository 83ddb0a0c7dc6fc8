/** Looks for secrets where none may be: as plain text, and in the encodings in which they travel. */

/** Prefixes that all secrets of a kind share; they reveal nothing. */
const KNOWN_PREFIX = /^(sk_secret_|parley_admin_)/;
/** A truncated secret is found too, if this many characters of either end are left. */
const PIECE_CHARS = 20;

/** All spellings of one secret, each with its name for the report. */
function spellings(secret: string): [string, Buffer][] {
  const random = secret.replace(KNOWN_PREFIX, "");
  return [
    ["beginning", Buffer.from(random.slice(0, PIECE_CHARS))],
    ["end", Buffer.from(random.slice(-PIECE_CHARS))],
    ["URL-encoded", Buffer.from(encodeURIComponent(random))],
    ...encodings(Buffer.from(secret)),
  ];
}

function encodings(bytes: Buffer): [string, Buffer][] {
  // Inside a longer text, such as id:secret, a secret may start at any of three positions of a base64 group.
  const base64 = [0, 1, 2].flatMap((offset): [string, string][] => [
    ["base64", middleOfBase64(bytes, offset, "base64")],
    ["base64url", middleOfBase64(bytes, offset, "base64url")],
  ]);
  return [...base64, ["hex", bytes.toString("hex")]].map(([name = "", text = ""]) => [name, Buffer.from(text)]);
}

/** The characters of the encoding that depend on these bytes only. */
function middleOfBase64(bytes: Buffer, offset: number, encoding: "base64" | "base64url"): string {
  const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString(encoding);
  return text.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6));
}

export class SecretSearch {
  private readonly needles: { secret: string; form: string; bytes: Buffer }[] = [];

  /** `name` is for the report, which must not repeat the secret itself. */
  add(name: string, secret: string): void {
    if (secret.length < PIECE_CHARS) throw new Error(`${name} is too short to be looked for`);
    // A token is usable only with its signature; its other parts are searched for by their contents.
    const parts = secret.split(".").length === 3 ? secret.split(".").slice(1) : [secret];
    for (const part of parts)
      for (const [form, bytes] of spellings(part)) this.needles.push({ secret: name, form, bytes });
  }

  /** A key that is bytes, not text. */
  addBytes(name: string, key: Buffer): void {
    for (const [form, bytes] of [["raw", key] as const, ...encodings(key)])
      this.needles.push({ secret: name, form, bytes });
  }

  get size(): number {
    return new Set(this.needles.map((needle) => needle.secret)).size;
  }

  /** The names of the secrets that the text contains, with their encodings. */
  in(haystack: string | Uint8Array): string[] {
    const bytes = Buffer.from(haystack);
    return this.needles.flatMap(({ secret, form, bytes: needle }) =>
      bytes.includes(needle) ? [`${secret} (${form})`] : [],
    );
  }
}
