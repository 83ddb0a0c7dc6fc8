/** Where the NATS servers are, and the credential for them. */
export interface NatsAddress {
  readonly servers: string[];
  readonly tls: boolean;
  readonly user?: string;
  readonly pass?: string;
  readonly token?: string;
}

/** `nats://user:pass@a:4222,b,c`: the credential is written once, before the first server. */
export function parseNatsUrl(url: string): NatsAddress {
  const [, scheme = "nats", rest = ""] = /^(\w+):\/\/(.*)$/.exec(url) ?? [];
  const at = rest.lastIndexOf("@");
  const servers = rest
    .slice(at + 1)
    .split(",")
    .map((one) =>
      one
        .trim()
        .replace(/^\w+:\/\//, "")
        .replace(/\/$/, ""),
    )
    .filter((one) => one !== "");
  const base = { servers, tls: scheme === "tls" };
  if (at < 0) return base;
  const [user = "", ...pass] = rest.slice(0, at).split(":").map(decodeURIComponent);
  return pass.length > 0 ? { ...base, user, pass: pass.join(":") } : { ...base, token: user };
}
